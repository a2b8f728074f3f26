/** A failing run as a person reads it: what is wrong, what had to happen for it, and how it came about. */

import { plainLine } from '../model/plain-line.ts';
import type { Run } from './simulate.ts';

export interface StoryOptions {
  /** Every line of the run instead of those about its subject. */
  readonly isWhole: boolean;
  /** The command line that runs this seed again. */
  readonly command: string;
}

export function storyOf(run: Run, { isWhole, command }: StoryOptions): string {
  const [first, ...others] = run.violations;
  const lines = isWhole ? run.lines : linesAbout(run).map(plainLine);
  return [
    `seed ${run.seed} violates ${first?.invariant}: ${first?.message}`,
    ...others.slice(0, 5).map(({ invariant, message }) => `  also ${invariant}: ${message}`),
    '',
    'What has to happen for it:',
    ...run.incidents.map(({ text }) => `  ${plainLine(text)}`),
    '',
    'How it comes about (seconds, who, what):',
    ...lines.map((line) => `  ${line}`),
    '',
    `Tell it again:  ${command}`,
    `Every line:     ${command} --trace`,
  ].join('\n');
}

const maxLines = 400;

/** The rest of the world is left out, and so are the days after. */
function linesAbout({ lines, violations: [first] }: Run): readonly string[] {
  const [account = '', advertId] = first?.subject?.split('/') ?? [];
  const isOfFeed = first?.invariant === 'cursor-behind-queue' || first?.invariant === 'one-poller';
  const isAbout = (line: string) =>
    / dies (before|after|at its time)|CALM| service +| a person +/.test(line) ||
    (isOfFeed && isAboutFeed(line, account)) ||
    (advertId === undefined
      ? !isOfFeed && isAboutTokens(line, account)
      : isAboutAdvert(line, account, advertId));
  const about = lines
    .slice(0, endOf(lines, isOfFeed ? first?.message : undefined))
    .filter((line) => isAbout(line) && !/→ true/.test(line));
  return about.length <= maxLines ? about : [...about.slice(0, maxLines), '…'];
}

/** What was seen in the very moment (`drain-7 stored …`) ends with the last that its process did. */
function endOf(lines: readonly string[], message: string | undefined): number | undefined {
  const process = message?.split(' ')[0];
  const last = process === undefined ? -1 : lines.findLastIndex((line) => line.includes(` ${process} `));
  if (last >= 0) return last + 1;
  const days = lines.findIndex((line) => line.includes('sweep-late-2'));
  return days < 0 ? undefined : days;
}

const isAboutFeed = (line: string, account: string): boolean =>
  /\/status\/adverts\?|answered \d+ .*(nextCursor|error)|queue\.send /.test(line) ||
  (/feedStates\.(acquire|advance|release|register)/.test(line) && line.includes(`"${account}"`));

const isAboutTokens = (line: string, account: string): boolean =>
  line.includes(account) &&
  (/oauth|answered|vault\.write|accounts\.write|stopped|revoke/.test(line) ||
    (/vault\.read/.test(line) && /refresh|sweep|connect/.test(line)));

/** IDs are short: only where one stands as an ID, and not that of another account's advert. */
function isAboutAdvert(line: string, account: string, advertId: string): boolean {
  const owner = new RegExp(`([a-z]+)/${advertId}(?![0-9.])`).exec(line)?.[1];
  if (owner !== undefined && ![account, 'advert', 'adverts'].includes(owner)) return false;
  if (new RegExp(`"partnerAccount":"(?!${account}")`).test(line) && !line.includes(`"${account}"`))
    return false;
  return new RegExp(`[/:"]${advertId}(?![0-9.])`).test(line);
}

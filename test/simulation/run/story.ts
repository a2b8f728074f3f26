/** Prints a failing run for people: what is wrong, which incidents it needs, and how it happened. */

import { plainLine } from '../model/plain-line.ts';
import type { Run } from './simulate.ts';

export interface StoryOptions {
  /** Prints every line of the run, instead of only those about its subject. */
  readonly isWhole: boolean;
  /** The command line that repeats this seed. */
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

/** Leaves out lines about other subjects, and the days at the end. */
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

/**
 * A violation detected at the moment of an action (`drain-7 stored …`) ends the story with the last line of its
 * process.
 */
function endOf(lines: readonly string[], message: string | undefined): number | undefined {
  const process = message?.split(' ')[0];
  const last = process === undefined ? -1 : lines.findLastIndex((line) => line.includes(` ${process} `));
  if (last >= 0) return last + 1;
  const days = lines.findIndex((line) => line.includes('sweep-late-2'));
  return days < 0 ? undefined : days;
}

const isAboutFeed = (line: string, account: string): boolean =>
  /\/status\/adverts\?|answered \d+ .*(nextCursor|error)|queue\.send /.test(line) ||
  line.includes(`feed.put ${account}/`);

const isAboutTokens = (line: string, account: string): boolean =>
  line.includes(account) && /oauth|answered|vault\.|account\.put|stopped|revoke/.test(line);

/** IDs are short: matches only complete IDs, and not the ID of another account's advert. */
function isAboutAdvert(line: string, account: string, advertId: string): boolean {
  const owner = new RegExp(`([a-z]+)/${advertId}(?![0-9.])`).exec(line)?.[1];
  if (owner !== undefined && ![account, 'advert', 'adverts'].includes(owner)) return false;
  if (new RegExp(`"partnerAccount":"(?!${account}")`).test(line) && !line.includes(`"${account}"`))
    return false;
  return new RegExp(`[/:"]${advertId}(?![0-9.])`).test(line);
}

/** Prints a failing run for people: what is wrong, which incidents it needs, and how it happened. */

import type { Violation } from '../model/history.ts';
import { epochMs } from '../model/scheduler.ts';
import type { Run } from './simulate.ts';

export interface StoryOptions {
  /** Prints every line of the run, instead of only those about its subject. */
  readonly isWhole: boolean;
  /** The command line that repeats this seed. */
  readonly command: string;
}

export function storyOf(run: Run, { isWhole, command }: StoryOptions): string {
  const [first, ...others] = run.violations;
  const lines = isWhole || !first ? run.lines : linesAbout(first, run.lines).map(plainLine);
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
function linesAbout(violation: Violation, lines: readonly string[]): readonly string[] {
  const about = new RegExp(
    ` dies (before|after|at its time)|CALM| the plan +| service +| a person +|${subjectIn(violation)}`,
  );
  // A violation detected at the moment of an action (`drain-7 stored …`) ends with the last line of its process.
  const process = ` ${violation.message.split(' ')[0]} `;
  const days = lines.findIndex((line) => line.includes('sweep-late-2'));
  const last = isOfFeed(violation) ? lines.findLastIndex((line) => line.includes(process)) : -1;
  const end = last >= 0 ? last + 1 : days;
  const found = lines
    .slice(0, end < 0 ? undefined : end)
    .filter((line) => about.test(line) && !/→ true/.test(line));
  return found.length <= maxLines ? found : [...found.slice(0, maxLines), '…'];
}

const isOfFeed = ({ invariant }: Violation) =>
  invariant === 'cursor-behind-queue' || invariant === 'one-poller';

/** What a line about the feed, the tokens or the advert of a violation contains. IDs are short: only complete ones count. */
function subjectIn(violation: Violation): string {
  const [account = '', advertId] = violation.subject?.split('/') ?? [];
  if (isOfFeed(violation)) return `/status/adverts\\?|nextCursor|queue\\.send |feed\\.put ${account}/`;
  return advertId === undefined
    ? `(oauth|answered|vault\\.|account\\.put|stopped|revoke).*${account}`
    : `(${account}/|adverts?/|[:"])${advertId}(?![0-9.])`;
}

const maxCharacters = 200;
/** Fields without information in a world of one feed. */
const noise = /"(?:generation|feed|listedAt|correlationId|cause|receivedAt|connectedAt)":(?:"[^"]*"|\d+),?/g;

/** Shortens a line for people: no repeated fields, and times as seconds since the start of the run. */
function plainLine(line: string): string {
  const text = line
    .replaceAll(noise, '')
    .replaceAll(/"0{9,}(\d+):0*(\d+)"/g, '"message $1, delivery $2"')
    .replaceAll(/\b\d{13}(?:\.\d+)?\b/g, (ms) => `${((Number(ms) - epochMs) / 1000).toFixed(3)}s`)
    .replaceAll(/,(?=[}\]])/g, '');
  return text.length > maxCharacters ? `${text.slice(0, maxCharacters)}…` : text;
}

/** Counts which incidents and which branches of the protocol occurred: a case that never occurs is not checked. */
import { answerIncidents, callIncidents } from './incidents.ts';

export type Coverage = ReturnType<typeof createCoverage>;

const named = (prefix: string, ...names: readonly string[]) => names.map((name) => `${prefix}: ${name}`);

/** Each must occur within a few hundred seeds; otherwise `npm run simulate -- --coverage` fails. */
const expectedOccurrences: readonly string[] = [
  ...named('call', ...callIncidents),
  ...named('request', ...answerIncidents),
  ...named('trouble', 'outage', 'block', 'bus-down'),
  ...named('ill', 'account', 'feed', 'adverts'),
  ...named(
    'fan-out',
    'pending event published',
    'pending event confirmed',
    'conflict',
    'trace left of an unchanged advert',
    'tries counted',
    'absence noted',
  ),
  ...named('verdict', 'events', 'unchanged', 'coalesced', 'unavailable', 'retry', 'dead-letter', 'forgotten'),
  ...named('verdict', 'hold'),
  ...named('trouble', 'waits-1', 'waits-5', 'accounts-unreadable', 'killer-advert'),
  ...named('fan-out', 'gives up what comes too often'),
  ...named('aside', 'released', 'waits for a person to the end'),
  ...named('person', 'pauses', 'resumes', 'ends the circuit'),
  ...named(
    'operator',
    'pauses an account',
    'pauses the bridge',
    'resumes',
    'ends what the service asked for',
  ),
  ...named('operator', 'pauses at last'),
  ...named('queue', 'receipt too old', 'refused in part', 'redriven'),
  ...named('drain', 'lease held', 'lease lost', 'several rounds', 'malformed ID', 'page read again'),
  ...named('drain', 'started over', 'started over in vain', 'resync started over'),
  ...named('poll ended', 'up-to-date', 'held', 'lease-lost', 'out-of-time', 'fault'),
  ...named('refresh', 'renewed', 'busy', 'paused', 'stopped', 'failed'),
  ...named(
    'service',
    'revoked',
    'scope lost',
    'cursors rejected',
    'one-time code refused',
    'refresh token rotated',
  ),
  ...named(
    'person',
    'connects by code',
    'connects by refresh token',
    'disconnects',
    'disconnects what is stopped',
    'forgets',
    'has a feed read again',
    'gives the name to another user',
    'another user refused',
    'another user unverified',
    'refused for another one at once',
  ),
  ...named(
    'history',
    'published',
    'kept-off',
    'not-accepted',
    'waits-in-queue',
    'unconfirmed',
    'aside',
    'dead-lettered',
    'dropped',
    'not-listed',
  ),
  ...named('audit', 'all as published', 'differs', 'unsettled', 'stuck', 'fails'),
  ...named('budget', 'rate-limited', 'forbidden', 'transient', 'trial', 'recovered'),
];

export function createCoverage() {
  const counts = new Map<string, number>();
  return {
    counts: counts as ReadonlyMap<string, number>,
    count(name: string): void {
      counts.set(name, (counts.get(name) ?? 0) + 1);
    },
  };
}

export function addCounts(sum: Map<string, number>, counts: Iterable<readonly [string, number]>): void {
  for (const [name, count] of counts) sum.set(name, (sum.get(name) ?? 0) + count);
}

export const missingOf = (counts: ReadonlyMap<string, number>): string[] =>
  expectedOccurrences.filter((name) => !counts.has(name));

/** A table for people. */
export function coverageTable(counts: ReadonlyMap<string, number>): string {
  const names = [...new Set([...expectedOccurrences, ...counts.keys()])];
  const width = Math.max(...names.map(({ length }) => length));
  return names
    .map((name) => `${name.padEnd(width)}  ${String(counts.get(name) ?? 'NEVER').padStart(9)}`)
    .join('\n');
}

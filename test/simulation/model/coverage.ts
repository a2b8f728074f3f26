/** Counts which incidents and outcomes occurred: a case that never occurs is not checked. */
import { answerIncidents, callIncidents } from './incidents.ts';

/** Each must occur within a few hundred seeds; otherwise `npm run simulate -- --coverage` fails. */
const expected: Readonly<Record<string, string>> = {
  call: callIncidents.join(', '),
  request: answerIncidents.join(', '),
  trouble: 'outage, block, bus-down, waits-1, accounts-restored, accounts-unreadable, killer-advert',
  ill: 'account, feed, adverts',
  'fan-out': 'gives up what comes too often',
  verdict: 'events, unchanged, coalesced, unavailable, retry, dead-letter, forgotten, hold',
  aside: 'released, waits for a person to the end',
  person:
    'ends the circuit, connects by code, connects by refresh token, disconnects, disconnects what is stopped, ' +
    'forgets, has a feed read again, gives the name to another user, another user refused, ' +
    'another user unverified, refused for another one at once',
  operator: 'pauses an account, pauses the bridge, resumes, ends what the service asked for, pauses at last',
  queue: 'receipt too old, refused in part, redriven',
  drain:
    'several rounds, malformed ID, page read again, started over, ' +
    'started over in vain, resync started over',
  'poll ended': 'up-to-date, held, lease-lost, out-of-time, fault',
  refresh: 'renewed, held, failed',
  service: 'revoked, scope lost, cursors rejected, one-time code refused, refresh token rotated',
  history:
    'published, kept-off, not-accepted, waits-in-queue, unconfirmed, aside, dead-lettered, dropped, not-listed',
  audit: 'all as published, differs, unsettled, stuck, fails',
  budget: 'rate-limited, forbidden, trial, recovered',
};
const expectedOccurrences = Object.entries(expected).flatMap(([kind, names]) =>
  names.split(', ').map((name) => `${kind}: ${name}`),
);

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

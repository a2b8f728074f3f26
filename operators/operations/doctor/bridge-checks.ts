/** Checks of every kind of bridge. Most show the findings of `status`. */

import { advertsFeed } from '../../../shared/contract/messages.ts';
import { forEachConcurrent } from '../../../shared/domain/concurrency.ts';
import { stopOf } from '../../../shared/domain/partner-account.ts';
import type { Mends } from '../../../shared/findings/sentences.ts';
import { type Bridge, once } from '../bridge.ts';
import { askFor } from '../connect-functions.ts';
import { type Finding, findingsOf, mendText, runbookPage } from '../findings/findings.ts';
import { readStatus } from '../status.ts';
import { type Check, type Checks, type Coded, orSkip, type Result, SkippedError } from './check.ts';

/** How the bridge is called in commands, and where its partner service is: undefined until it is stored. */
export interface ExaminedPlace extends Mends {
  readonly baseUrl?: string | undefined;
}

/** What AWS runs has its own checks. */
const withoutAws = { kind: 'stack', read: async () => undefined } as const;

/** Each is read once, by the check that needs it first. */
export function bridgeFacts<Place extends ExaminedPlace>(bridge: Bridge, place: Place) {
  const host = bridge.host.kind === 'stack' ? withoutAws : bridge.host;
  const status = once(() => readStatus({ ...bridge, host }, Date.now()));
  return {
    ...place,
    accounts: once(() => bridge.partnerAccounts.list(() => undefined)),
    advertHistories: bridge.advertHistories,
    findings: once(async () => findingsOf(await status(), { nowMs: Date.now(), ...place })),
    /** Requests a token of the application from the service, which is not stored. */
    ask: once(async () => {
      const { pausedUntil, circuit, paused } = await status();
      // After an open circuit, the next request is a trial, and its outcome changes the bridge's behaviour.
      if (pausedUntil !== null || circuit || paused) throw new SkippedError('pause');
      if (bridge.host.kind === 'local' && place.baseUrl === undefined)
        throw new SkippedError('needs-base-url');
      return askFor(bridge, 'accepted', { action: 'check' });
    }),
  };
}
export type BridgeFacts = ReturnType<typeof bridgeFacts>;

/** A `Date` that is further off is ignored (shared/partner-api/service-clock.ts). */
const daySeconds = 86_400;
/** Longer than a request takes, and much shorter than the overlap before the last success. */
const maxOffSeconds = 60;

/** The checks that show findings of the whole bridge; `delivery` shows all others. */
const shownBy: Readonly<Record<string, string>> = {
  'not-running': 'run',
  'not-responding': 'run',
  'older-copy': 'run',
  'dead-letters': 'dead-letters',
  'unreadable-row': 'partner-accounts',
  'no-account': 'partner-accounts',
  circuit: 'pause',
  'rate-limited': 'pause',
  'operator-paused': 'pause',
};
const checkOf = ({ what, partnerAccount }: Finding): string =>
  partnerAccount === null || what === 'held' ? (shownBy[what] ?? 'delivery') : 'partner-accounts';
/** Where a note is worth a warning. */
const withNotes: readonly string[] = ['partner-accounts', 'pause'];

export const problemOf = (found: Pick<Finding, 'severity' | 'says'> & Partial<Finding>): Result => ({
  result: found.severity === 'fault' ? 'fault' : 'warning',
  says: found.says,
  mend: mendText(found) || runbookPage,
});

export const findingCheck =
  (name: string): Check<BridgeFacts> =>
  async ({ findings }, report) => {
    const shown = (await findings()).filter((found) => checkOf(found) === name);
    for (const found of shown)
      if (found.severity !== 'note' || withNotes.includes(name)) report(problemOf(found));
  };

/**
 * Looks at the token pairs of all accounts that are not stopped.
 *
 * @param find the version of the stored pair, or what is wrong with it
 */
export const pairCheck =
  <Facts extends BridgeFacts>(
    find: (name: string, facts: Facts) => Promise<Coded | string | undefined>,
  ): Check<Facts> =>
  async (facts, report) => {
    const polled = (await facts.accounts()).filter((account) => !stopOf(account));
    for (const { name, token } of polled) {
      const found = await find(name, facts);
      if (found === undefined) report('missing', { name });
      else if (typeof found !== 'string') report(found[0], { name, ...found[1] });
      else if (token && token.version !== found) report('other', { name });
    }
    return { pairs: polled.length };
  };

/** Two names of one user have nearly all adverts in common; two users have at most some that changed hands. */
const advertsLookedUp = 5;
/** Each pair takes up to ten reads, so all take some seconds. */
const maxPairs = 200;
const pairsAtOnce = 10;

/**
 * Finds one user under two names. No answer of the service names the user, but an advert belongs to one. The newest
 * accounts come first, because `doctor` is run after each `connect`.
 */
const usersCheck: Check<BridgeFacts> = async ({ accounts, advertHistories }, report) => {
  const polled = (await accounts()).filter((account) => !stopOf(account));
  const newestFirst = polled
    .toSorted((one, other) => other.generation - one.generation)
    .map(({ name, generation }) => {
      const owner = { partnerAccount: name, generation };
      return { name, owner, sample: once(() => advertHistories.page(owner, undefined, advertsLookedUp)) };
    });
  const pairs = newestFirst
    .flatMap((newer, index) =>
      newestFirst.slice(index + 1, index + 1 + maxPairs).map((older) => ({ newer, older })),
    )
    .slice(0, maxPairs);

  type Known = (typeof newestFirst)[number];
  /** One that was connected later has only adverts that changed since, so both directions are looked at. */
  async function hasAdvertsOf({ owner }: Known, other: Known): Promise<boolean> {
    const { advertIds } = await other.sample();
    const key = { ...owner, feed: advertsFeed.name };
    const rows = advertIds.map((advertId) => advertHistories.read({ ...key, advertId }));
    return (await Promise.all(rows)).filter((row) => row?.envelope).length * 2 > advertIds.length;
  }
  await forEachConcurrent(pairs, pairsAtOnce, async ({ newer, older }) => {
    if ((await hasAdvertsOf(older, newer)) || (await hasAdvertsOf(newer, older)))
      report('same', { newer: newer.name, older: older.name });
  });
  return { pairs: pairs.length, all: (polled.length * (polled.length - 1)) / 2 };
};

export const bridgeChecks: Checks<BridgeFacts> = {
  async 'application-credentials'({ ask }) {
    await ask();
  },
  async clock({ ask }, report) {
    const { clockOffSeconds: off } = await orSkip(ask(), 'needs-answer');
    if (off === undefined) throw new SkippedError('no-time');
    const seconds = Math.abs(off);
    const facts = { seconds, side: off > 0 ? 'ahead of' : 'behind' };
    if (seconds > daySeconds) report('ignored', facts);
    else if (seconds > maxOffSeconds) report('off', facts);
    return { most: maxOffSeconds };
  },
  'partner-accounts': findingCheck('partner-accounts'),
  users: usersCheck,
  delivery: findingCheck('delivery'),
  'dead-letters': findingCheck('dead-letters'),
  pause: findingCheck('pause'),
};

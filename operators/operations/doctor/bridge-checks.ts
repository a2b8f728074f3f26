/** Checks of every kind of bridge. Most show the findings of `status`. */

import { stopOf } from '../../../shared/domain/partner-account.ts';
import { type Bridge, once } from '../bridge.ts';
import { askFor } from '../connect-functions.ts';
import { connectWords } from '../errors.ts';
import { type Finding, findingsOf, type Mends, mendText, runbookPage } from '../findings/findings.ts';
import { readStatus } from '../status.ts';
import { type Check, type Checks, fault, orSkip, type Result, SkippedError, warning } from './check.ts';

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
    findings: once(async () => findingsOf(await status(), { nowMs: Date.now(), ...place })),
    /** Requests a token of the application from the service, which is not stored. */
    ask: once(async () => {
      const { pausedUntil, circuit, paused } = await status();
      // After an open circuit, the next request is a trial, and its outcome changes the bridge's behaviour.
      if (pausedUntil !== null || circuit || paused)
        throw new SkippedError('no request is sent to the service during a pause: see pause');
      if (bridge.host.kind === 'local' && place.baseUrl === undefined)
        throw new SkippedError('needs a base URL: see application');
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
  ...{ 'not-running': 'run', 'not-responding': 'run', 'older-copy': 'run', 'dead-letters': 'dead-letters' },
  ...{ 'unreadable-row': 'partner-accounts', 'no-account': 'partner-accounts' },
  ...{ circuit: 'pause', 'rate-limited': 'pause', 'operator-paused': 'pause' },
};
const checkOf = ({ what, partnerAccount }: Finding): string =>
  partnerAccount === null || what === 'held' ? (shownBy[what] ?? 'delivery') : 'partner-accounts';
/** Where a note is worth a warning. */
const withNotes: readonly string[] = ['partner-accounts', 'pause'];

export const problemOf = (found: Pick<Finding, 'severity' | 'says'> & Partial<Finding>): Result =>
  (found.severity === 'fault' ? fault : warning)(found.says, mendText(found) || runbookPage);

/** @param fine what to say if there is no finding */
export const findingCheck =
  (name: string, fine: string): Check<BridgeFacts> =>
  async ({ findings }, report) => {
    const shown = (await findings()).filter((found) => checkOf(found) === name);
    for (const found of shown)
      if (found.severity !== 'note' || withNotes.includes(name)) report(problemOf(found));
    return fine;
  };

/**
 * Looks at the token pairs of all accounts that are not stopped.
 *
 * @param takesIn what takes in a pair that the account's row does not name yet
 * @param find the version of the stored pair, or what is wrong with it
 */
export const pairCheck =
  <Facts extends BridgeFacts>(
    takesIn: (facts: Facts) => string,
    find: (name: string, facts: Facts, connect: string) => Promise<Result | string | undefined>,
  ): Check<Facts> =>
  async (facts, report) => {
    const polled = (await facts.accounts()).filter((account) => !stopOf(account));
    for (const { name, token } of polled) {
      const connect = `\`${facts.command(connectWords(name))}\``;
      const found = await find(name, facts, connect);
      const says = `the token pair of ${name} is not the one that its row names`;
      if (found === undefined) report(fault(`${name} has no token pair`, connect));
      else if (typeof found === 'object') report(found);
      else if (token && token.version !== found)
        report(warning(says, `${takesIn(facts)}; if this stays, ${connect}`));
    }
    return `token pairs found: ${polled.length}, none is missing`;
  };

export const bridgeChecks: Checks<BridgeFacts> = {
  async 'application-credentials'({ ask }) {
    await ask();
    return 'the partner service accepts them';
  },
  async clock({ ask, kind }, report) {
    const answered = orSkip(ask(), 'needs an answer of the service: see application-credentials');
    const { clockOffSeconds: off } = await answered;
    if (off === undefined) throw new SkippedError('the service does not send its time');
    const seconds = Math.abs(off);
    const says = `the service's clock is ${seconds} s ${off > 0 ? 'ahead of' : 'behind'} the bridge's`;
    const own =
      kind === 'local'
        ? 'Set the clock of this machine (`timedatectl set-ntp true`); if it is right,'
        : 'The functions have the clock of AWS:';
    const mend = `${own} tell the partner service that its clock is wrong`;
    if (seconds > daySeconds) report(fault(`${says}, so the bridge ignores it`, mend));
    else if (seconds > maxOffSeconds) report(warning(says, mend));
    return `the service's clock is within ${maxOffSeconds} s of the bridge's`;
  },
  'partner-accounts': findingCheck('partner-accounts', 'no partner account needs manual action'),
  delivery: findingCheck('delivery', 'what was listed is delivered, or not late yet'),
  'dead-letters': findingCheck('dead-letters', 'none'),
  pause: findingCheck('pause', 'none'),
};

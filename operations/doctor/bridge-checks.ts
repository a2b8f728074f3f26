/** Checks of every kind of bridge. Most show the findings of `status`. */

import { stopOf } from '../../shared/domain/partner-account.ts';
import { type Bridge, once } from '../bridge.ts';
import { askFor } from '../connect-functions.ts';
import { connectWords } from '../errors.ts';
import { type Finding, findingsOf, type Mends, mendText, pageOf } from '../findings.ts';
import { readStatus } from '../status.ts';
import { type Checks, fault, orSkip, type Problem, SkippedError, warning } from './check.ts';

/** How the bridge is called in commands, and where its partner service is: undefined until it is stored. */
export interface ExaminedPlace extends Mends {
  readonly baseUrl?: string | undefined;
}

/** Each is read once, by the check that needs it first. */
export function bridgeFacts<Place extends ExaminedPlace>(bridge: Bridge, place: Place) {
  const status = once(async () => {
    // What AWS runs has its own checks.
    const { stack: _stack, ...ports } = bridge;
    return readStatus(ports, Date.now());
  });
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
      if (bridge.kind === 'local' && place.baseUrl === undefined)
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
  ...{ 'not-running': 'run', 'older-copy': 'run' },
  ...{ 'unreadable-row': 'partner-accounts', 'no-account': 'partner-accounts' },
  ...{ circuit: 'pause', 'rate-limited': 'pause', 'operator-paused': 'pause' },
  'dead-letters': 'dead-letters',
};
const checkOf = ({ what, partnerAccount }: Finding): string =>
  partnerAccount === null || what === 'held' ? (shownBy[what] ?? 'delivery') : 'partner-accounts';
/** Where a note is worth a warning. */
const withNotes: readonly string[] = ['partner-accounts', 'pause'];

export function problemOf(found: Finding): Problem {
  const problem = found.severity === 'fault' ? fault : warning;
  return problem(found.says, mendText(found) || pageOf(found));
}

/** @param fine what to say if there is no finding */
export const findingCheck =
  (name: string, fine: string): Checks<BridgeFacts>[string] =>
  async ({ findings }, report) => {
    for (const found of await findings()) {
      const isShown = found.severity !== 'note' || withNotes.includes(name);
      if (checkOf(found) === name && isShown) report(problemOf(found));
    }
    return fine;
  };

interface PairLook {
  /** What takes in a pair that the account's row does not name yet. */
  readonly takesIn: string;
  find(name: string, connect: string): Promise<Problem | { readonly version: string } | undefined>;
}

/** Looks at the token pairs of all accounts that are not stopped. */
export async function checkPairs(
  { accounts, command }: BridgeFacts,
  report: (problem: Problem) => void,
  { takesIn, find }: PairLook,
): Promise<string> {
  const polled = (await accounts()).filter((account) => !stopOf(account));
  const looked = polled.map(async ({ name, token }) => {
    const connect = `\`${command(connectWords(name))}\``;
    const found = await find(name, connect);
    if (!found) return report(fault(`${name} has no token pair`, connect));
    if ('says' in found) return report(found);
    if (!token || token.version === found.version) return;
    const says = `the token pair of ${name} is not the one that its row names`;
    report(warning(says, `${takesIn}; if this stays, ${connect}`));
  });
  await Promise.all(looked);
  return `token pairs found: ${polled.length}, none is missing`;
}

export const bridgeChecks: Checks<BridgeFacts> = {
  async 'application-credentials'({ ask }) {
    await ask();
    return 'the partner service accepts them';
  },
  async clock({ ask, kind }, report) {
    const { clockOffSeconds: off } = await orSkip(
      ask(),
      'needs an answer of the service: see application-credentials',
    );
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

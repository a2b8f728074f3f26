/** Checks of every kind of bridge. Most show the findings of `status`. */
import { type PartnerAccount, stopOf } from '../../shared/domain/partner-account.ts';
import { type Bridge, once } from '../bridge.ts';
import { connectWords } from '../errors.ts';
import { type Finding, findingsOf, mendText, pageOf } from '../findings.ts';
import { readStatus } from '../status.ts';
import { type Checks, fault, judged, type Problem, SkippedError, warning } from './check.ts';

export interface BridgeFacts {
  readonly kind: Bridge['kind'];
  readonly command: (words: string) => string;
  /** Base URL of the partner service; undefined until it is known. */
  readonly baseUrl: () => string | undefined;
  /** @throws {SkippedError} if it cannot be opened until another fault is fixed */
  readonly bridge: () => Promise<Bridge>;
}

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

/** Of all accounts that are not stopped. @param takesIn what takes in a pair that the account's row does not name yet */
export const tokenPairs =
  (
    { bridge, command }: BridgeFacts,
    takesIn: string,
    look: (name: string, connect: string) => Promise<Problem | { readonly version: string } | undefined>,
  ) =>
  async () => {
    const all = await (await bridge()).partnerAccounts.list(() => undefined);
    const polled = all.filter((account) => !stopOf(account));
    const problemOf = async ({ name, token }: PartnerAccount): Promise<Problem | false> => {
      const connect = `\`${command(connectWords(name))}\``;
      const found = await look(name, connect);
      if (!found) return fault(`${name} has no token pair`, connect);
      if ('says' in found) return found;
      if (!token || token.version === found.version) return false;
      const says = `the token pair of ${name} is not the one that its row names`;
      return warning(says, `${takesIn}; if this stays, ${connect}`);
    };
    return judged(
      `token pairs found: ${polled.length}, none is missing`,
      ...(await Promise.all(polled.map(problemOf))),
    );
  };

/** @returns also `run`, which only an embedded bridge shows */
export function bridgeChecks({ kind, command, baseUrl, bridge }: BridgeFacts) {
  const status = once(async () => {
    // What AWS runs has its own checks.
    const { stack: _stack, ...ports } = await bridge();
    return readStatus(ports, Date.now());
  });
  const findings = once(async () => findingsOf(await status(), { nowMs: Date.now(), kind, command }));
  /** Requests a token of the application from the service, which is not stored. */
  const ask = once(async () => {
    const { pausedUntil, circuit, paused } = await status();
    // After an open circuit, the next request is a trial, and its outcome changes the bridge's behaviour.
    if (pausedUntil !== null || circuit || paused)
      throw new SkippedError('no request is sent to the service during a pause: see pause');
    const { functions } = await bridge();
    if (kind === 'local' && baseUrl() === undefined)
      throw new SkippedError('needs a base URL: see application');
    return functions.checkApplication();
  });
  const finding = (name: string, fine: string) => async () => {
    const shown = (await findings()).filter(
      (found) => checkOf(found) === name && (found.severity !== 'note' || withNotes.includes(name)),
    );
    return judged(fine, ...shown.map(problemOf));
  };

  return {
    run: finding('run', 'a run is at work, or nothing waits for one'),
    checks: {
      async 'application-credentials'() {
        await ask();
        return judged('the partner service accepts them');
      },
      async clock() {
        const { clockOffSeconds: off } = await ask().catch((error: unknown) => {
          if (error instanceof SkippedError) throw error;
          throw new SkippedError('needs an answer of the service: see application-credentials');
        });
        if (off === undefined) throw new SkippedError('the service does not send its time');
        const seconds = Math.abs(off);
        const says = `the service's clock is ${seconds} s ${off > 0 ? 'ahead of' : 'behind'} the bridge's`;
        const own =
          kind === 'local'
            ? 'Set the clock of this machine (`timedatectl set-ntp true`); if it is right,'
            : 'The functions have the clock of AWS:';
        const mend = `${own} tell the partner service that its clock is wrong`;
        return judged(
          `the service's clock is within ${maxOffSeconds} s of the bridge's`,
          seconds > daySeconds
            ? fault(`${says}, so the bridge ignores it`, mend)
            : seconds > maxOffSeconds && warning(says, mend),
        );
      },
      'partner-accounts': finding('partner-accounts', 'no partner account needs manual action'),
      delivery: finding('delivery', 'what was listed is delivered, or not late yet'),
      'dead-letters': finding('dead-letters', 'none'),
      pause: finding('pause', 'none'),
    } satisfies Checks,
  };
}

/**
 * Access tokens of partner accounts. A token is used only while its version is the one in the account's row, and only for
 * the generation of that row: so one that was disconnected, connected again or given to another user is out of use at
 * once, in every process (see account-views.ts for how old the row may be). The secret is read once for each version.
 * When a token has run out the refresh-token stage is asked, which alone writes them: what it has refreshed is read
 * again, never passed on.
 *
 * @see partner-api.md §5.3
 */

import type { RefreshOutcome, Rejection } from '../../contract/refresh-token.ts';
import { type Clock, systemClock } from '../../domain/clock.ts';
import { asPartnerError, PartnerError } from '../../domain/faults.ts';
import type { PartnerAccount } from '../../domain/partner-account.ts';
import { pauseOf, stopOf } from '../../domain/partner-account.ts';
import type { RefreshRequester } from '../../ports/refresh-requester.ts';
import type { AccessToken, TokenSource } from '../../ports/token-source.ts';
import type { TokenReader } from '../../ports/token-vault.ts';
import type { ViewedAccounts } from './account-views.ts';
import {
  createRefusals,
  generationOverFault,
  notRenewedFault,
  pausedFault,
  refreshFault,
  stoppedFault,
} from './refusals.ts';

export interface TokenSourceOptions {
  readonly reader: TokenReader;
  readonly requester: RefreshRequester;
  /** Says which version of the token counts, for which generation; a stop or a pause is seen there, too. */
  readonly accounts: Pick<ViewedAccounts, 'view' | 'read' | 'seen' | 'keepInView'>;
  readonly clock?: Clock;
}

interface Kept extends AccessToken {
  readonly expiresAt: number;
}

interface Renewal {
  readonly ended: Promise<Kept>;
  /** Of the caller that began it. */
  readonly deadlineMs: number;
}

/** Between two looks at a row that somebody else is about to write. */
const lookMs = 500;
/** Stands for a version where none was rejected: row and secret differ. */
const noVersion = '';

/** Creates the source; one for each process, so that all its callers share what is read and refreshed. */
export function createTokenSource(options: TokenSourceOptions): TokenSource {
  const { reader, requester, accounts, clock = systemClock } = options;
  const kept = new Map<string, Kept>();
  const refusals = createRefusals(clock);
  /** The version that was rejected last, and why: not to be tried again. */
  const rejections = new Map<string, { readonly version: string; readonly because: Rejection }>();
  const reads = new Map<string, Promise<Kept>>();
  const renewals = new Map<string, Renewal>();

  async function readSecret(name: string): Promise<Kept> {
    const found = await reader.read(name).catch((error: unknown) => Promise.reject(asPartnerError(error)));
    if (!found) {
      kept.delete(name);
      throw stoppedFault(name, 'it has no credentials');
    }
    const { pair, version } = found;
    const known = kept.get(name);
    // The same object as before, where it is the same token: headers made from it are kept, too.
    const token = known?.version === version ? known.token : pair.accessToken;
    const fresh = { token, version, expiresAt: pair.expiresAt };
    kept.set(name, fresh);
    return fresh;
  }

  /**
   * The token of `version`; callers side by side share one reading of the secret.
   *
   * @returns undefined when the secret has another version: one of row and secret is about to be written, or who was to
   * write it has died
   */
  async function tokenOf(name: string, version: string | undefined): Promise<Kept | undefined> {
    const known = kept.get(name);
    if (known && known.version === version) return known;
    const found = await shared(reads, name, () => readSecret(name));
    return found.version === version ? found : undefined;
  }

  const isGood = ({ expiresAt }: Kept) => expiresAt > clock.now();
  const isUsable = (name: string, found: Kept) =>
    isGood(found) && rejections.get(name)?.version !== found.version;

  /** @throws {PartnerError} `generation-over`, `account-stopped` */
  function allowed(name: string, generation: number, account: PartnerAccount | undefined): PartnerAccount {
    if (account?.generation !== generation) throw generationOverFault(name, generation);
    const stop = stopOf(account);
    if (stop) throw stoppedFault(name, stop.reason);
    return account;
  }

  async function viewed(name: string, generation: number): Promise<PartnerAccount> {
    const account = await accounts.view(name, generation).catch((error: unknown) => {
      throw asPartnerError(error);
    });
    return allowed(name, generation, account);
  }

  async function current(name: string, generation: number, deadlineMs: number): Promise<AccessToken> {
    const { token } = await viewed(name, generation);
    const found = await tokenOf(name, token?.version);
    if (found && isUsable(name, found)) return found;
    // One that has run out, or was rejected before, would only burn a request.
    const rejection = rejections.get(name);
    const because = found && rejection?.version === found.version ? rejection.because : 'expired';
    return renewed(name, generation, found?.version ?? noVersion, because, deadlineMs);
  }

  async function renewed(
    name: string,
    generation: number,
    rejected: string,
    because: Rejection,
    deadlineMs: number,
  ): Promise<AccessToken> {
    const { token } = await viewed(name, generation);
    const known = token?.version === rejected ? undefined : kept.get(name);
    if (known && known.version === token?.version && isUsable(name, known)) return known;
    if (rejected !== noVersion) rejections.set(name, { version: rejected, because });
    refusals.check(name);
    try {
      return await renewal(name, generation, rejected, because, deadlineMs);
    } catch (error) {
      const fault = asPartnerError(error);
      refusals.note(name, fault);
      throw fault;
    }
  }

  /** The renewal that is under way, or a new one; one at a time for each version. */
  async function renewal(
    name: string,
    generation: number,
    rejected: string,
    because: Rejection,
    deadlineMs: number,
  ): Promise<Kept> {
    const key = `${name} ${generation} ${rejected} ${because}`;
    const running = renewals.get(key);
    if (!running) {
      const ended = renew(name, generation, rejected, because, deadlineMs).finally(() =>
        renewals.delete(key),
      );
      renewals.set(key, { ended, deadlineMs });
      return ended;
    }
    if (running.deadlineMs >= deadlineMs) return beforeDeadline(running, name, deadlineMs);
    const found = await running.ended.catch((error: unknown) => {
      // That the time of another caller was up is not the last word for one that has more.
      const { code, retryAfterMs = lookMs } = asPartnerError(error);
      const ranOut = code === 'transient' && clock.now() + retryAfterMs >= running.deadlineMs;
      if (!ranOut) throw error;
    });
    return found ?? renewal(name, generation, rejected, because, deadlineMs);
  }

  /** Until there is a token of another version, or a reason why there will not be one. */
  async function renew(
    name: string,
    generation: number,
    rejected: string,
    because: Rejection,
    deadlineMs: number,
  ): Promise<Kept> {
    let isToldRenewed = false;
    for (let avoided = rejected; ; ) {
      const account = allowed(name, generation, (await accounts.read(name))?.value);
      const version = account.token?.version;
      const found = version === avoided ? undefined : await tokenOf(name, version);
      if (found) {
        if (isGood(found)) return found;
        avoided = found.version;
      }
      let waitMs = lookMs;
      // Once in a row: what was said to be renewed may take a moment to be seen.
      if (!isToldRenewed) {
        const pause = pauseOf(account, clock.now());
        if (pause) throw pausedFault(name, pause.reason, pause.until - clock.now());
        // Of a version other than the rejected one nothing is known but that it has run out.
        const why = version === rejected ? because : 'expired';
        const outcome = await requester
          .refresh(
            { partnerAccount: name, rejectedVersion: version ?? noVersion, because: why },
            { deadlineMs },
          )
          .catch((error: unknown): RefreshOutcome => failedOf(asPartnerError(error)));
        isToldRenewed = outcome.kind === 'renewed';
        if (outcome.kind === 'renewed') continue;
        waitMs = Math.max(waitOf(outcome, name), lookMs);
      }
      isToldRenewed = false;
      if (clock.now() + waitMs >= deadlineMs) throw notRenewedFault(name, waitMs);
      await clock.sleep(waitMs);
    }
  }

  function guard(name: string, generation: number, version: string) {
    return {
      beforeSend(): Promise<unknown> | undefined {
        const seen = accounts.seen(name);
        if (!seen) return viewed(name, generation);
        if (allowed(name, generation, seen.account).token?.version === version) return undefined;
        throw new PartnerError(
          'token-rejected',
          `not sent: the token of partner account ${name} was replaced`,
        );
      },
      release: accounts.keepInView(name),
    };
  }

  /** @returns how long to wait when somebody else is at it; throws in every other case */
  function waitOf(outcome: Exclude<RefreshOutcome, { kind: 'renewed' }>, name: string): number {
    switch (outcome.kind) {
      case 'busy':
        return Math.max(1, outcome.retryAfterMs);
      case 'paused':
        throw pausedFault(name, outcome.reason, outcome.untilMs - clock.now());
      case 'stopped':
        throw stoppedFault(name, outcome.reason);
      case 'failed':
        throw refreshFault(name, outcome.fault, outcome.reason);
    }
  }

  /** Others may have more time than this caller: what they share goes on without it. */
  async function beforeDeadline(renewal: Renewal, name: string, deadlineMs: number): Promise<Kept> {
    if (renewal.deadlineMs === deadlineMs) return renewal.ended;
    const done = new AbortController();
    const late = clock.sleep(deadlineMs - clock.now(), done.signal).then((): Kept => {
      throw notRenewedFault(name, lookMs);
    });
    late.catch(() => undefined);
    try {
      return await Promise.race([renewal.ended, late]);
    } finally {
      done.abort();
    }
  }

  return { current, renewed, guard };
}

/** The promise under `key`, begun if there is none; forgotten when it ends. */
function shared<T>(running: Map<string, Promise<T>>, key: string, begin: () => Promise<T>): Promise<T> {
  const known = running.get(key);
  if (known) return known;
  const begun = begin().finally(() => running.delete(key));
  running.set(key, begun);
  return begun;
}

const failedOf = ({ code, message }: PartnerError): RefreshOutcome => ({
  kind: 'failed',
  fault: code,
  reason: message,
});

import type { RefreshOutcome, Rejection } from '../../contract/refresh-token.ts';
import type { Clock } from '../../domain/clock.ts';
import { asPartnerError } from '../../domain/faults.ts';
import type { RefreshRequester } from '../../ports/refresh-requester.ts';
import type { ViewedAccounts } from './account-views.ts';
import type { CachedToken, TokenCache } from './token-cache.ts';
import { notRenewedFault, pausedFault, refreshFault, stoppedFault } from './token-faults.ts';
import { refusePaused, usableAccount } from './usable-account.ts';

/** A token that must not be used any more. */
export interface Rejected {
  readonly name: string;
  readonly generation: number;
  /** Undefined if no token was rejected, but row and secret have different versions. */
  readonly version: string | undefined;
  readonly because: Rejection;
}

interface Renewal {
  readonly ended: Promise<CachedToken>;
  /** Deadline of the caller that began the renewal. */
  readonly deadlineMs: number;
}

export interface TokenRenewalsDeps {
  readonly tokens: TokenCache;
  readonly requester: RefreshRequester;
  readonly accounts: Pick<ViewedAccounts, 'read'>;
  readonly clock: Clock;
}

/** Interval between two reads of a row that another process is about to write. */
const lookMs = 500;

/**
 * Requests renewals from the refresh-token stage and waits until the new token is stored. The stage's answer is never
 * used as a token; the secret is read again. Concurrent callers share one renewal.
 */
export class TokenRenewals {
  readonly #tokens: TokenCache;
  readonly #requester: RefreshRequester;
  readonly #accounts: TokenRenewalsDeps['accounts'];
  readonly #clock: Clock;
  readonly #renewals = new Map<string, Renewal>();

  constructor({ tokens, requester, accounts, clock }: TokenRenewalsDeps) {
    this.#tokens = tokens;
    this.#requester = requester;
    this.#accounts = accounts;
    this.#clock = clock;
  }

  /** Returns the running renewal or begins one; one at a time for each version. */
  async renewed(rejected: Rejected, deadlineMs: number): Promise<CachedToken> {
    const { name, generation, version, because } = rejected;
    const key = `${name} ${generation} ${version} ${because}`;
    const running = this.#renewals.get(key);
    if (!running) {
      const ended = this.#renew(rejected, deadlineMs).finally(() => this.#renewals.delete(key));
      this.#renewals.set(key, { ended, deadlineMs });
      return ended;
    }
    if (running.deadlineMs >= deadlineMs) return this.#beforeDeadline(running, name, deadlineMs);
    const found = await running.ended.catch((error: unknown) => {
      // The first caller's deadline has passed, but this caller has more time.
      const { code, retryAfterMs = lookMs } = asPartnerError(error);
      const ranOut = code === 'transient' && this.#clock.now() + retryAfterMs >= running.deadlineMs;
      if (!ranOut) throw error;
    });
    return found ?? this.renewed(rejected, deadlineMs);
  }

  /** After this caller's deadline, the renewal continues for the other callers. */
  async #beforeDeadline(renewal: Renewal, name: string, deadlineMs: number): Promise<CachedToken> {
    if (renewal.deadlineMs === deadlineMs) return renewal.ended;
    const done = new AbortController();
    const late = this.#clock.sleep(deadlineMs - this.#clock.now(), done.signal).then((): CachedToken => {
      throw notRenewedFault(name, lookMs);
    });
    late.catch(() => undefined);
    try {
      return await Promise.race([renewal.ended, late]);
    } finally {
      done.abort();
    }
  }

  /** Repeats until there is a token of another version, or a fault explains why there will be none. */
  async #renew(rejected: Rejected, deadlineMs: number): Promise<CachedToken> {
    const { name, generation, version: rejectedVersion } = rejected;
    let isToldRenewed = false;
    for (let avoided = rejectedVersion; ; ) {
      const account = usableAccount(
        name,
        generation,
        (await this.#accounts.read(name))?.value,
        this.#clock.now(),
      );
      const version = account.token?.version;
      const found = version === avoided ? undefined : await this.#tokens.read(name, version);
      if (found && found.expiresAt > this.#clock.now()) return found;
      if (found) avoided = found.version;
      let waitMs = lookMs;
      // Not twice in a row, because a renewed token may become visible only after a moment.
      if (!isToldRenewed) {
        refusePaused(account, this.#clock.now());
        // Of any other version it is known only that it has expired.
        const because = version === rejectedVersion ? rejected.because : 'expired';
        const outcome = await this.#ask(name, version, because, deadlineMs);
        isToldRenewed = outcome.kind === 'renewed';
        if (outcome.kind === 'renewed') continue;
        waitMs = Math.max(this.#waitOf(outcome, name), lookMs);
      }
      isToldRenewed = false;
      if (this.#clock.now() + waitMs >= deadlineMs) throw notRenewedFault(name, waitMs);
      await this.#clock.sleep(waitMs);
    }
  }

  #ask(
    partnerAccount: string,
    version: string | undefined,
    because: Rejection,
    deadlineMs: number,
  ): Promise<RefreshOutcome> {
    const request = { partnerAccount, rejectedVersion: version ?? '', because };
    return this.#requester.refresh(request, { deadlineMs }).catch((error: unknown) => {
      const { code, message } = asPartnerError(error);
      return { kind: 'failed', fault: code, reason: message };
    });
  }

  /** @returns how long to wait while another process refreshes the token; throws in every other case */
  #waitOf(outcome: Exclude<RefreshOutcome, { kind: 'renewed' }>, name: string): number {
    switch (outcome.kind) {
      case 'busy':
        return outcome.retryAfterMs;
      case 'paused':
        throw pausedFault(name, outcome.reason, outcome.untilMs - this.#clock.now());
      case 'stopped':
        throw stoppedFault(name, outcome.reason);
      case 'failed':
        throw refreshFault(name, outcome.fault, outcome.reason);
    }
  }
}

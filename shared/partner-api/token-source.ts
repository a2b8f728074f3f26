import type { RefreshOutcome, Rejection } from '../contract/invocations.ts';
import { type Clock, systemClock } from '../domain/clock.ts';
import { asBridgeFault, BridgeFault, faultKinds, faultPolicies } from '../domain/faults.ts';
import type { PartnerAccount } from '../domain/partner-account.ts';
import type { AccessToken, RefreshRequester, TokenReader, TokenSource } from '../ports/tokens.ts';
import type { CachedAccounts } from './cached-rows.ts';
import type { HoldKeeper } from './hold-keeper.ts';

export interface TokenSourceOptions {
  readonly reader: TokenReader;
  readonly requester: RefreshRequester;
  /** The rows of partner accounts: they name the valid token version and generation, and contain stops and pauses. */
  readonly accounts: Pick<CachedAccounts, 'peek' | 'get'>;
  /** Says whether an account is on hold. */
  readonly holds: Pick<HoldKeeper, 'admit'>;
  readonly clock?: Clock;
}

interface CachedToken extends AccessToken {
  readonly expiresAt: number;
}

/** Interval between two reads of a row that another process is about to write. */
const lookMs = 500;
/** Long enough for the row of the next generation to become visible. */
const generationMs = 5_000;

/** Creates the source; one per process, so that all callers share reads and refreshes. */
export const createTokenSource = (options: TokenSourceOptions): TokenSource => new SharedTokenSource(options);

/**
 * Access tokens of partner accounts. A token is used only while the account's row names its version, and only for the
 * generation of that row. So after `disconnect`, another `connect` or a change of the user, no process uses the old
 * token any more. The secret is read once for each version. To replace an expired token, the source asks the
 * refresh-token stage, the only writer of tokens, and then reads the secret again; the stage never passes tokens on.
 *
 * @see partner-api.md §5.3
 */
class SharedTokenSource implements TokenSource {
  readonly #options: TokenSourceOptions;
  readonly #clock: Clock;
  readonly #tokens = new Map<string, CachedToken>();
  readonly #reading = new Map<string, Promise<CachedToken | undefined>>();
  readonly #renewals = new Map<string, Promise<RefreshOutcome>>();
  /** The last rejected version of each account and the reason; it is not sent again. */
  readonly #rejected = new Map<string, { readonly version: string; readonly because: Rejection }>();

  constructor(options: TokenSourceOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  current(...asked: Parameters<TokenSource['current']>): AccessToken | Promise<AccessToken> {
    const [name, generation, , resource] = asked;
    const cached = this.#options.accounts.peek(name);
    // A row of another generation may be older than the caller's data.
    if (cached?.account?.generation === generation) {
      const { token } = this.#usable(name, generation, cached.account);
      const known = this.#tokens.get(name);
      // Planted fault: version-not-compared
      if (known && known.version === token?.version && this.#isGood(name, known)) {
        const admission = this.#options.holds.admit(cached.account, resource);
        return admission ? admission.then(() => known) : known;
      }
    }
    return this.#fetched(...asked).catch((error: unknown) => {
      throw asBridgeFault(error);
    });
  }

  reject(name: string, version: string, because: Rejection): void {
    this.#rejected.set(name, { version, because });
  }

  #isGood(name: string, { version, expiresAt }: CachedToken): boolean {
    return expiresAt > this.#clock.now() && this.#rejected.get(name)?.version !== version;
  }

  /** @throws {BridgeFault} if the account may not be used now */
  #usable(name: string, generation: number, account: PartnerAccount | undefined): PartnerAccount {
    // Planted fault: generation-not-compared
    if (account?.generation !== generation) throw generationOver(name, generation);
    return account;
  }

  /** Reads the row and the secret, and has the token renewed until there is a good one or a fault explains why not. */
  async #fetched(...asked: Parameters<TokenSource['current']>): Promise<AccessToken> {
    const [name, generation, deadlineMs, resource] = asked;
    const { accounts, holds } = this.#options;
    let row = accounts.peek(name)?.account;
    let isCached = row?.generation === generation;
    /** The version in place of which there is a new one. */
    let renewed: string | undefined;
    for (; ; isCached = false) {
      if (!isCached) row = await accounts.get(name);
      const account = this.#usable(name, generation, row);
      const { token } = account;
      await holds.admit(account, resource);
      const found = await this.#tokenOf(name, token?.version);
      if (found && this.#isGood(name, found)) return found;
      if (found && renewed !== undefined && found.version !== renewed) {
        // Expired although it is new: this process's clock is ahead, so the service's answers decide.
        const kept = { ...found, expiresAt: Number.POSITIVE_INFINITY };
        this.#tokens.set(name, kept);
        if (this.#isGood(name, kept)) return kept;
      }
      // Another process may have renewed the token since the row was cached.
      if (isCached) continue;
      let waitMs = lookMs;
      // Not twice in a row, because a renewed token may become visible only after a moment.
      if (found && renewed === undefined) {
        const outcome = await this.#renewed(name, token?.version ?? '', deadlineMs);
        if (outcome.kind === 'renewed') {
          renewed = found.version;
          continue;
        }
        waitMs = Math.max(this.#waitAfter(name, outcome), lookMs);
      }
      renewed = undefined;
      if (this.#clock.now() + waitMs >= deadlineMs) throw notRenewed(name, waitMs);
      await this.#clock.sleep(waitMs);
    }
  }

  /**
   * The token of `version`; concurrent callers share one read of the secret.
   *
   * @returns undefined if the secret does not show that version yet
   */
  async #tokenOf(name: string, version: string | undefined): Promise<CachedToken | undefined> {
    const known = this.#tokens.get(name);
    // Planted fault: version-not-compared
    if (known && known.version === version) return known;
    const key = `${name} ${version}`;
    const reading =
      this.#reading.get(key) ?? this.#readSecret(name, version).finally(() => this.#reading.delete(key));
    this.#reading.set(key, reading);
    return reading;
  }

  async #readSecret(name: string, wanted: string | undefined): Promise<CachedToken | undefined> {
    const found = await this.#options.reader.read(name, wanted);
    // Planted fault: version-not-compared
    if (found?.version !== wanted || !found) return undefined;
    const { pair, version } = found;
    const fresh = { token: pair.accessToken, version, expiresAt: pair.expiresAt };
    this.#tokens.set(name, fresh);
    return fresh;
  }

  /** Asks the refresh-token stage, once for all who wait; each waits until its own deadline. */
  async #renewed(name: string, version: string, deadlineMs: number): Promise<RefreshOutcome> {
    const rejection = this.#rejected.get(name);
    const because = rejection?.version === version ? rejection.because : 'expired';
    const key = `${name} ${version} ${because}`;
    const renewal =
      this.#renewals.get(key) ??
      this.#options.requester
        .refresh({ partnerAccount: name, rejectedVersion: version, because }, { deadlineMs })
        .catch(asFailed)
        .finally(() => this.#renewals.delete(key));
    this.#renewals.set(key, renewal);
    const done = new AbortController();
    const late = this.#clock.sleep(deadlineMs - this.#clock.now(), done.signal);
    const outcome = await Promise.race([renewal, late]).finally(() => done.abort('done'));
    if (!outcome) throw notRenewed(name, lookMs);
    return outcome;
  }

  /** @returns how long to wait while another process refreshes the token; throws in every other case */
  #waitAfter(name: string, outcome: RefreshOutcome): number {
    switch (outcome.kind) {
      case 'renewed':
        return 0;
      case 'busy':
        return outcome.retryAfterMs;
      case 'paused':
        throw paused(name, outcome.reason, outcome.untilMs - this.#clock.now());
      case 'stopped':
        throw stopped(name, outcome.reason);
      case 'failed':
        throw refreshFailed(name, outcome.fault, outcome.reason);
    }
  }
}

function asFailed(error: unknown): RefreshOutcome {
  const { code, message } = asBridgeFault(error);
  return { kind: 'failed', fault: code, reason: message };
}

const stopped = (name: string, reason: string) =>
  new BridgeFault('account-stopped', `partner account ${name} is stopped: ${reason}`);

const paused = (name: string, reason: string, waitMs: number) =>
  new BridgeFault('account-paused', `partner account ${name} waits: ${reason}`, {
    retryAfterMs: Math.max(1, waitMs),
  });

/** The message or poll that needed the token is retried; by then its account has another generation, or is forgotten. */
const generationOver = (name: string, generation: number) =>
  new BridgeFault('generation-over', `generation ${generation} of partner account ${name} is over`, {
    retryAfterMs: generationMs,
  });

const notRenewed = (name: string, retryAfterMs: number) =>
  new BridgeFault('transient', `the token of partner account ${name} was not renewed in time`, {
    retryAfterMs,
  });

/** A failed refresh is never the fault of the advert, so the advert's message must not be dead-lettered by tries. */
function refreshFailed(name: string, kind: string, reason: string): BridgeFault {
  const known = faultKinds.find((candidate) => candidate === kind) ?? 'transient';
  const blamesAdvert = faultPolicies[known].deadLettered !== 'by-age';
  return new BridgeFault(blamesAdvert ? 'transient' : known, `token of partner account ${name}: ${reason}`);
}

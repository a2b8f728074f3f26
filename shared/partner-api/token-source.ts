import type { RefreshOutcome, Rejection } from '../contract/invocations.ts';
import { type Clock, withinTime } from '../domain/clock.ts';
import { asBridgeFault, BridgeFault, countsTries, faultKinds } from '../domain/faults.ts';
import type { PartnerAccount } from '../domain/partner-account.ts';
import { helpedRenewal, waitingRenewal } from '../domain/renewal.ts';
import type { Secret } from '../domain/secret.ts';
import type { RefreshRequester, TokenVault } from '../ports/tokens.ts';
import { type CachedAccounts, sharedRuns } from './cached-rows.ts';
import type { CallRequest } from './call.ts';
import type { HoldKeeper } from './hold-keeper.ts';
import type { CallOptions } from './readings.ts';

interface TokenSourceOptions {
  readonly reader: Pick<TokenVault, 'read'>;
  readonly requester: RefreshRequester;
  readonly partnerAccounts: Pick<CachedAccounts, 'peek' | 'get' | 'read' | 'change'>;
  readonly holds: HoldKeeper;
  readonly clock: Clock;
}

interface AccessToken {
  readonly token: Secret;
  /** Version of the secret it came from. */
  readonly version: string;
  readonly expiresAt: number;
}

interface TokenQuery extends CallOptions {
  readonly partnerAccount: string;
  /** What is asked for: after a hold, one resource tries the service. */
  readonly resource: string;
  /** The rejected token because of which this is asked: the fault, if there is no other token. */
  readonly rejected?: { readonly version: string; readonly fault: BridgeFault } | undefined;
  /** The request is sent next, so it may be the one that tries. */
  readonly isNext: boolean;
}

/** Interval between two reads of what another process has just written. */
const lookMs = 500;
/** Long enough for the row of the next generation to become visible. */
const generationMs = 5_000;

export type TokenSource = ReturnType<typeof createTokenSource>;

/**
 * Access tokens of partner accounts; one per process, so that all callers share reads and refreshes. A token is used only
 * while the account's row names its version, and only for the generation of that row. @see partner-api.md §5.3
 */
export function createTokenSource({ reader, requester, partnerAccounts, holds, clock }: TokenSourceOptions) {
  const tokens = new Map<string, AccessToken>();
  const reads = sharedRuns<AccessToken | undefined>();
  const renewals = sharedRuns<RefreshOutcome>();
  /** The last rejected version of each account and the reason; it is not sent again. */
  const rejected = new Map<string, { readonly version: string; readonly because: Rejection }>();

  /** A pair that the service gave again is not stored again: then only the row knows how long it lives. */
  const isExpired = ({ token }: PartnerAccount, { expiresAt }: AccessToken): boolean =>
    Math.max(expiresAt, token?.expiresAt ?? 0) <= clock.now();
  const isGood = (row: PartnerAccount, found: AccessToken): boolean =>
    !isExpired(row, found) && rejected.get(row.name)?.version !== found.version;

  /** Reads the row and the secret, and has the token renewed if there is no good one. */
  async function find(asked: TokenQuery): Promise<AccessToken> {
    const { partnerAccount: name, generation, deadlineMs, rejected: refused } = asked;
    let row = partnerAccounts.peek(name)?.account;
    // A row of another generation may be older than the caller's data.
    let isCached = row?.generation === generation;
    if (!isCached) row = await partnerAccounts.get(name);
    for (let isRenewed = false; ; isCached = false) {
      // Planted fault: generation-not-compared
      if (row?.generation !== generation) throw generationOver(asked);
      await holds.ready({ ...asked, account: row });
      const found = await tokenOf(name, row.token?.version);
      if (found && isGood(row, found)) return found;
      if (found && isRenewed) {
        if (refused?.version === found.version) throw refused.fault;
        return inForce(row, found);
      }
      if (isCached) {
        // Another process may have renewed the token since the row was cached.
        row = await partnerAccounts.get(name);
      } else if (found) {
        if (!mustWait(row, found) || rejected.get(name)?.because === 'scope-insufficient') {
          const outcome = await renew(name, found.version, deadlineMs);
          if (outcome.kind === 'failed') throw failedRefresh(name, outcome);
          // Now the row has a newer version or a hold, or says until when the next renewal waits.
          row = await partnerAccounts.read(name);
        }
        isRenewed = true;
      } else {
        // What was just written becomes visible only after a moment.
        if (clock.now() + lookMs >= deadlineMs) throw notRenewed(name);
        await clock.sleep(lookMs);
        row = await partnerAccounts.get(name);
      }
    }
  }

  /** Whether the next renewal is not due yet. If the last one failed and the token has run out, the row needs a hold. */
  function mustWait(row: PartnerAccount, found: AccessToken): boolean {
    const waiting = waitingRenewal(row, clock.now());
    return waiting !== undefined && (waiting.fault === undefined || !isExpired(row, found));
  }

  /** The token that there is until the next renewal. The service's answers decide whether it has really run out. */
  function inForce(row: PartnerAccount, token: AccessToken): AccessToken {
    rejected.delete(row.name);
    const kept = isExpired(row, token) ? { ...token, expiresAt: Number.POSITIVE_INFINITY } : token;
    tokens.set(row.name, kept);
    return kept;
  }

  /** Concurrent callers share one read. @returns undefined if the secret does not show that version yet */
  async function tokenOf(name: string, version: string | undefined): Promise<AccessToken | undefined> {
    const known = tokens.get(name);
    // Planted fault: version-not-compared
    if (known && known.version === version) return known;
    return reads(`${name} ${version}`, async () => {
      const found = await reader.read(name, version);
      // Planted fault: version-not-compared
      if (found?.version !== version || !found) return undefined;
      const { accessToken: token, expiresAt } = found.pair;
      const fresh = { token, version: found.version, expiresAt };
      tokens.set(name, fresh);
      return fresh;
    });
  }

  /** Asks the refresh-token stage, once for all who wait; each waits until its own deadline. */
  async function renew(name: string, version: string, deadlineMs: number): Promise<RefreshOutcome> {
    const rejection = rejected.get(name);
    const because = rejection?.version === version ? rejection.because : 'expired';
    const request = { partnerAccount: name, rejectedVersion: version, because };
    const renewal = renewals(`${name} ${version} ${because}`, () =>
      requester.refresh(request, { deadlineMs }).catch(asFailed),
    );
    const late = () => {
      throw notRenewed(name);
    };
    return withinTime(renewal, { clock, ms: deadlineMs - clock.now(), late });
  }

  return {
    /**
     * The token to send now, by a row that is at most five seconds old.
     * @throws {BridgeFault} `generation-over`, `account-stopped`, `account-paused`, `operator-paused`, `paused`,
     * `transient`
     */
    current: (asked: TokenQuery): Promise<AccessToken> =>
      find(asked).catch((error: unknown) => {
        throw asBridgeFault(error);
      }),

    /** The service has rejected the token of this version: the next `current` renews it. */
    reject: (name: string, version: string, because: Rejection): void =>
      void rejected.set(name, { version, because }),

    /** Whether a renewal may help after this version was rejected: then the request is repeated. */
    mayRenew(name: string, version: string): boolean {
      const row = partnerAccounts.peek(name)?.account;
      const waiting = row?.token?.version === version && waitingRenewal(row, clock.now());
      // Rule: renewed-again
      return !waiting;
    },

    /** No other token came of the renewal: nothing is sent again, and the answer to this request counts after all. */
    counts: (account: string, resource: string, fault: BridgeFault): Promise<void> =>
      holds.answered({ account, resource, fault, sentAt: clock.now() }),

    /** An answer was good with the token of this version. Resolves when the row says so, if it has to. */
    async helped(name: string, version: string): Promise<void> {
      const row = partnerAccounts.peek(name)?.account;
      if (row?.token?.version !== version || !helpedRenewal(row)) return;
      const change = (current: PartnerAccount) =>
        current.token?.version === version ? helpedRenewal(current) : undefined;
      // The next good answer tries again.
      await partnerAccounts.change(name, change).catch(() => undefined);
    },
  };
}

type FailedRefresh = Extract<RefreshOutcome, { kind: 'failed' }>;

/** A failed refresh is never the fault of the advert, whose message must not be dead-lettered by tries. */
function failedRefresh(name: string, { fault, reason }: FailedRefresh): BridgeFault {
  const kind = faultKinds.find((one) => one === fault && !countsTries(one)) ?? 'transient';
  return new BridgeFault(kind, `token of partner account ${name}: ${reason}`);
}

function asFailed(error: unknown): RefreshOutcome {
  const { code, message } = asBridgeFault(error);
  return { kind: 'failed', fault: code, reason: message };
}

/** The message or poll that needed the token is retried; by then its account has another generation, or is forgotten. */
const generationOver = ({ partnerAccount: name, generation }: TokenQuery) =>
  new BridgeFault('generation-over', `generation ${generation} of partner account ${name} is over`, {
    retryAfterMs: generationMs,
  });

const notRenewed = (name: string) =>
  new BridgeFault('transient', `the token of partner account ${name} was not renewed in time`, {
    retryAfterMs: lookMs,
  });

/**
 * Sends a request with the partner account's token. If it is rejected, the request is repeated once with another token, if
 * there is one. A token of too small a scope is reported, which stops the account, because a refresh cannot widen a scope.
 */
export function withTokenOf(tokens: TokenSource) {
  return async <T>(
    whose: Omit<TokenQuery, 'resource' | 'isNext' | 'rejected'>,
    send: (token: NonNullable<CallRequest['token']>, mayBeToken: CallRequest['isUndecided']) => Promise<T>,
  ): Promise<T> => {
    const { partnerAccount } = whose;
    let used = { version: '', resource: '' };
    let rejected: TokenQuery['rejected'];
    const token = async (resource: string, isNext: boolean) => {
      const { token: secret, version } = await tokens.current({ ...whose, resource, isNext, rejected });
      used = { version, resource };
      return secret;
    };
    for (;;) {
      const isUndecided = ({ code }: BridgeFault) =>
        code === 'token-rejected' && !rejected && tokens.mayRenew(partnerAccount, used.version);
      try {
        const answer = await send(token, isUndecided);
        await tokens.helped(partnerAccount, used.version);
        return answer;
      } catch (fault) {
        if (!(fault instanceof BridgeFault)) throw fault;
        const { version, resource } = used;
        // Rule: rejected-answer-counts
        if (fault === rejected?.fault) await tokens.counts(partnerAccount, resource, fault);
        if (isUndecided(fault)) {
          rejected = { version, fault };
          tokens.reject(partnerAccount, version, 'token-rejected');
          continue;
        }
        if (fault.code === 'scope-insufficient') {
          tokens.reject(partnerAccount, version, fault.code);
          // The request has failed, whatever the result of reporting the token.
          await token(resource, false).catch(() => undefined);
        }
        throw fault;
      }
    }
  };
}

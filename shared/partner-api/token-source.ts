import type { RefreshOutcome, Rejection } from '../contract/invocations.ts';
import type { Clock } from '../domain/clock.ts';
import { asBridgeFault, BridgeFault, faultKinds, faultPolicies } from '../domain/faults.ts';
import type { Secret } from '../domain/secret.ts';
import type { CallOptions } from '../ports/readers.ts';
import type { RefreshRequester, TokenVault } from '../ports/tokens.ts';
import { type CachedAccounts, sharedRuns } from './cached-rows.ts';
import type { CallRequest } from './call.ts';
import type { HoldKeeper } from './hold-keeper.ts';

interface TokenSourceOptions {
  readonly reader: Pick<TokenVault, 'read'>;
  readonly requester: RefreshRequester;
  readonly partnerAccounts: Pick<CachedAccounts, 'peek' | 'get'>;
  readonly holds: Pick<HoldKeeper, 'admit'>;
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

  function isGood(name: string, { version, expiresAt }: AccessToken): boolean {
    return expiresAt > clock.now() && rejected.get(name)?.version !== version;
  }

  /** Reads the row and the secret, and has the token renewed until there is a good one or a fault explains why not. */
  async function find(asked: TokenQuery): Promise<AccessToken> {
    const { partnerAccount: name, generation, deadlineMs, resource } = asked;
    let row = partnerAccounts.peek(name)?.account;
    // A row of another generation may be older than the caller's data.
    let isCached = row?.generation === generation;
    /** The version in place of which there is a new one. */
    let renewed: string | undefined;
    for (; ; isCached = false) {
      if (!isCached) row = await partnerAccounts.get(name);
      // Planted fault: generation-not-compared
      if (row?.generation !== generation) throw generationOver(asked);
      const { token } = row;
      await holds.admit({ resource, account: row });
      const found = await tokenOf(name, token?.version);
      if (found && isGood(name, found)) return found;
      if (found && renewed !== undefined && found.version !== renewed) {
        // Expired although it is new: this process's clock is ahead, so the service's answers decide.
        const kept = { ...found, expiresAt: Number.POSITIVE_INFINITY };
        tokens.set(name, kept);
        if (isGood(name, kept)) return kept;
      }
      // Another process may have renewed the token since the row was cached.
      if (isCached) continue;
      // Not twice in a row, because a renewed token may become visible only after a moment.
      if (found && renewed === undefined) {
        const outcome = await renew(name, token?.version ?? '', deadlineMs);
        if (outcome.kind === 'failed') throw failedRefresh(name, outcome);
        // Now the row has a newer version, or a hold.
        renewed = found.version;
        continue;
      }
      renewed = undefined;
      if (clock.now() + lookMs >= deadlineMs) throw notRenewed(name);
      await clock.sleep(lookMs);
    }
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
    const done = new AbortController();
    const late = clock.sleep(deadlineMs - clock.now(), done.signal);
    const outcome = await Promise.race([renewal, late]).finally(() => done.abort('done'));
    if (!outcome) throw notRenewed(name);
    return outcome;
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
  };
}

type FailedRefresh = Extract<RefreshOutcome, { kind: 'failed' }>;

/** A failed refresh is never the fault of the advert, whose message must not be dead-lettered by tries. */
function failedRefresh(name: string, { fault, reason }: FailedRefresh): BridgeFault {
  const known = faultKinds.find((kind) => kind === fault) ?? 'transient';
  const blamesAdvert = ['at-once', 'by-tries'].includes(faultPolicies[known].deadLettered);
  return new BridgeFault(blamesAdvert ? 'transient' : known, `token of partner account ${name}: ${reason}`);
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

/** More resources than this are not remembered; then one of them is renewed for once more. */
const maxRenewedFor = 10_000;

/**
 * Sends a request with the partner account's token. A rejected token is renewed and the request is repeated once. A
 * token of too small a scope is reported, which stops the account, because a refresh cannot widen a scope.
 */
export function withTokenOf(tokens: Pick<TokenSource, 'current' | 'reject'>) {
  /** The version that was the renewed one when the resource rejected that, too. */
  const renewedFor = new Map<string, string>();

  return async <T>(
    whose: Omit<TokenQuery, 'resource'>,
    send: (token: NonNullable<CallRequest['token']>, mayBeToken: CallRequest['isUndecided']) => Promise<T>,
  ): Promise<T> => {
    const { partnerAccount } = whose;
    let used = { version: '', resource: '' };
    const token = async (resource: string) => {
      const { token: secret, version } = await tokens.current({ ...whose, resource });
      used = { version, resource };
      return secret;
    };
    for (let isRepeated = false; ; isRepeated = true) {
      // Rule: one-renewal-for-an-advert
      const isUndecided = ({ code }: BridgeFault) =>
        code === 'token-rejected' && !isRepeated && renewedFor.get(used.resource) !== used.version;
      try {
        return await send(token, isUndecided);
      } catch (fault) {
        if (!(fault instanceof BridgeFault)) throw fault;
        const { version, resource } = used;
        if (isUndecided(fault)) {
          tokens.reject(partnerAccount, version, 'token-rejected');
          continue;
        }
        if (fault.code === 'token-rejected') {
          if (renewedFor.size >= maxRenewedFor) renewedFor.clear();
          renewedFor.set(resource, version);
        }
        if (fault.code === 'scope-insufficient') {
          tokens.reject(partnerAccount, version, fault.code);
          // The request has failed, whatever the result of reporting the token.
          await token(resource).catch(() => undefined);
        }
        throw fault;
      }
    }
  };
}

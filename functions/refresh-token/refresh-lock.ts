import type { RefreshRequest, Rejection } from '../../shared/contract/invocations.ts';
import { type Clock, isLasting } from '../../shared/domain/clock.ts';
import { BridgeFault } from '../../shared/domain/faults.ts';
import type { PartnerAccount } from '../../shared/domain/partner-account.ts';
import type { EventPublisher } from '../../shared/ports/event-publisher.ts';
import type { Observer } from '../../shared/ports/observer.ts';
import type { ApplicationSecret, TokenEndpoint, TokenVault } from '../../shared/ports/tokens.ts';
import type { PartnerAccounts } from '../../shared/state/partner-accounts.ts';

export interface LockDeps {
  readonly accounts: PartnerAccounts;
  readonly clock: Clock;
  readonly newId: () => string;
  readonly settings: {
    /** Longer than the function's timeout, so that no other process writes a token while this function may still do so. */
    readonly lockMs: number;
  };
}

export const busy = Symbol('busy');

/**
 * Only one function or process at a time changes the partner account's tokens.
 * @param work receives the holder's name, which stays in the row until another process takes the lock, and the locked
 * row
 * @param deadlineMs the lock is not taken after this moment, such as by a process that was frozen. Default: no limit
 * @returns `busy` when another process holds the lock, or there is no such account
 */
export async function withRefreshLock<T>(
  deps: LockDeps,
  name: string,
  work: (holder: string, account: PartnerAccount) => Promise<T>,
  deadlineMs = Number.POSITIVE_INFINITY,
): Promise<T | typeof busy> {
  const { accounts, clock, settings } = deps;
  const holder = deps.newId();
  const locked = await accounts.change(name, (now) => {
    const startedAt = clock.now();
    if (startedAt > deadlineMs) return undefined;
    // Planted fault: no-single-flight
    if (isLasting(now.refreshing?.until ?? 0, settings.lockMs, startedAt)) return undefined;
    return { ...now, refreshing: { holder, startedAt, until: startedAt + settings.lockMs } };
  });
  if (locked?.refreshing?.holder !== holder) return busy;
  try {
    return await work(holder, locked);
  } finally {
    await releaseRefreshLock(accounts, name, holder);
  }
}

/** Releases the lock if `holder` still has it. Never rejects: a lock that cannot be released expires by itself. */
export async function releaseRefreshLock(
  accounts: PartnerAccounts,
  name: string,
  holder: string,
): Promise<void> {
  await accounts
    .change(name, (now) => {
      if (now.refreshing?.holder !== holder) return undefined;
      const { refreshing: _refreshing, ...rest } = now;
      return rest;
    })
    .catch(() => undefined);
}

export interface RefreshDeps extends LockDeps {
  readonly vault: Pick<TokenVault, 'read' | 'write'>;
  readonly applicationSecret: Pick<ApplicationSecret, 'read'>;
  readonly client: TokenEndpoint;
  readonly events: EventPublisher;
  readonly observer: Observer;
  readonly settings: LockDeps['settings'] & {
    readonly requiredScope: string;
    /** Name of the bridge, for its events. */
    readonly bridge: string;
  };
}

/** A request for a refresh, with the reasons that only the sweep uses. */
export interface TokenRefresh extends Omit<RefreshRequest, 'because'> {
  /** `unused`: the token is valid, but its refresh token must be used so that it does not expire. */
  readonly because: Rejection | 'unused';
}

export interface CallOptions {
  /** Milliseconds since 1970: no work begins after this moment. */
  readonly deadlineMs: number;
}

const lookAgainMs = 500;

/**
 * First waits for a running refresh, which could otherwise store its pair, of a grant that is invalid by then, after
 * the new pair.
 * @returns undefined if there is no such account
 * @throws {BridgeFault} `account-busy` when another process still holds the lock at the deadline
 */
export async function exclusively<T>(
  deps: LockDeps,
  name: string,
  { deadlineMs }: CallOptions,
  work: (holder: string) => Promise<T>,
): Promise<T | undefined> {
  const { accounts, clock } = deps;
  while (await accounts.read(name)) {
    const result = await withRefreshLock(deps, name, work, deadlineMs);
    if (result !== busy) return result;
    if (clock.now() + lookAgainMs >= deadlineMs) {
      throw new BridgeFault(
        'account-busy',
        `somebody else is refreshing the token of ${name} or connecting it: try again in two minutes`,
      );
    }
    await clock.sleep(lookAgainMs);
  }
  return undefined;
}

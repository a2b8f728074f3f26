import type { Clock } from '../../shared/domain/clock.ts';
import type { PartnerAccount } from '../../shared/domain/partner-account.ts';
import type { PartnerAccounts } from '../../shared/state/partner-accounts.ts';

/** More than the clocks of two processes differ. */
const clockToleranceMs = 60_000;

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
 * Runs `work` under a lock, so that only one function or process at a time changes the partner account's tokens.
 *
 * @param work receives the holder's name, which stays in the account's row until another process takes the lock, and the
 * row as locked
 * @returns `busy` when another process holds the lock, or there is no such account
 */
export async function withRefreshLock<T>(
  deps: LockDeps,
  name: string,
  work: (holder: string, account: PartnerAccount) => Promise<T>,
): Promise<T | typeof busy> {
  const { accounts, clock, settings } = deps;
  const holder = deps.newId();
  const locked = await accounts.change(name, (now) => {
    const startedAt = clock.now();
    const leftMs = (now.refreshing?.until ?? 0) - startedAt;
    // A lock that lasts for longer was taken before a clock was set back.
    // Planted fault: no-single-flight
    const free = leftMs <= 0 || leftMs > settings.lockMs + clockToleranceMs;
    return free
      ? { ...now, refreshing: { holder, startedAt, until: startedAt + settings.lockMs } }
      : undefined;
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

import type { Clock } from '../../shared/domain/clock.ts';
import type { PartnerAccounts } from '../../shared/ports/partner-accounts.ts';
import { changeAccount } from '../../shared/ports/partner-accounts.ts';

export interface LockDeps {
  readonly accounts: PartnerAccounts;
  readonly clock: Clock;
  readonly newId: () => string;
  readonly settings: {
    /** Longer than the function's timeout, so that nobody else writes a token while this function may still do so. */
    readonly lockMs: number;
  };
}

export const busy = Symbol('busy');

/**
 * Runs `work` as the only one that changes the partner account's tokens, over all functions and processes.
 *
 * @param work is given the holder's name, which stands in the account's row for as long as nobody else took the lock
 * @returns `busy` when somebody else is at it, or there is no such account
 */
export async function withRefreshLock<T>(
  deps: LockDeps,
  name: string,
  work: (holder: string) => Promise<T>,
): Promise<T | typeof busy> {
  const { accounts, clock, settings } = deps;
  const holder = deps.newId();
  const locked = await changeAccount(accounts, name, (now) => {
    // Planted fault: no-single-flight
    const free = !now.refreshing || now.refreshing.until <= clock.now();
    const startedAt = clock.now();
    return free
      ? { ...now, refreshing: { holder, startedAt, until: startedAt + settings.lockMs } }
      : undefined;
  });
  if (locked?.refreshing?.holder !== holder) return busy;
  try {
    return await work(holder);
  } finally {
    await releaseRefreshLock(accounts, name, holder);
  }
}

/** Gives the lock back, if it is still that of `holder`. */
export async function releaseRefreshLock(
  accounts: PartnerAccounts,
  name: string,
  holder: string,
): Promise<void> {
  await changeAccount(accounts, name, (now) => {
    if (now.refreshing?.holder !== holder) return undefined;
    const { refreshing: _refreshing, ...rest } = now;
    return rest;
  });
}

import type { RefreshRequest, Rejection } from '../../shared/contract/invocations.ts';
import { type Clock, type Deadline, isLasting } from '../../shared/domain/clock.ts';
import { BridgeFault } from '../../shared/domain/faults.ts';
import type { PartnerAccount } from '../../shared/domain/partner-account.ts';
import type { PartnerClient } from '../../shared/partner-api/client.ts';
import type { EventPublisher } from '../../shared/ports/event-publisher.ts';
import type { Observer } from '../../shared/ports/observer.ts';
import type { ApplicationSecret, TokenVault } from '../../shared/ports/tokens.ts';
import type { BudgetStore } from '../../shared/state/budget.ts';
import type { PartnerAccounts } from '../../shared/state/partner-accounts.ts';

/** Longer than a function runs, so that no other process writes a token while one that has lost its lock may still do so. */
export const refreshLockMs = 120_000;

export interface LockDeps {
  readonly partnerAccounts: PartnerAccounts;
  readonly clock: Clock;
  readonly newId: () => string;
  /** Default: `refreshLockMs`. */
  readonly lockMs?: number;
}

export interface RefreshDeps extends LockDeps {
  readonly vault: Pick<TokenVault, 'read' | 'write' | 'reserve'>;
  readonly applicationSecret: Pick<ApplicationSecret, 'read'>;
  readonly client: Pick<PartnerClient, 'requestTokens'>;
  readonly budgetStore: Pick<BudgetStore, 'change'>;
  readonly events: EventPublisher;
  readonly observer: Observer;
  readonly settings: {
    readonly requiredScope: string;
    readonly bridge: string;
  };
}

/** A request for a refresh, with the reasons that only the sweep uses. */
export interface TokenRefresh extends Omit<RefreshRequest, 'because'> {
  /** `unused`: the token is valid, but its refresh token must be used so that it does not expire. */
  readonly because: Rejection | 'unused';
}

/** The right to change a partner account's tokens, which one function or process has at a time. */
export interface AccountLock {
  readonly name: string;
  /** The row when the lock was taken; undefined for an unknown name, whose first row takes the lock. */
  readonly account: PartnerAccount | undefined;
  /** The row; undefined if another process has taken the lock since. */
  read(): Promise<PartnerAccount | undefined>;
  /** Creates the row of an unknown name. @returns false if another process has created it */
  add(account: PartnerAccount): Promise<boolean>;
  /** Changes the row; does nothing and returns undefined if another process has taken the lock: what that one writes is newer. */
  change(change: (account: PartnerAccount) => PartnerAccount): Promise<PartnerAccount | undefined>;
  remove(): Promise<void>;
}

const lookAgainMs = 500;

/**
 * Does the work while no other function or process changes the partner account's tokens. Waits for the lock: a running
 * refresh could otherwise store its pair, of a grant that is invalid by then, after the new pair.
 *
 * @param options.deadlineMs the lock is not taken after this moment, such as by a process that was frozen
 * @throws {BridgeFault} `account-busy` when another process still holds the lock at the deadline
 */
export async function exclusively<T>(
  { partnerAccounts, clock, newId, lockMs = refreshLockMs }: LockDeps,
  name: string,
  { deadlineMs }: Deadline,
  work: (lock: AccountLock) => Promise<T>,
): Promise<T> {
  const holder = newId();
  const begin = (startedAt: number) => ({ holder, startedAt, until: startedAt + lockMs });
  const isHeldIn = ({ refreshing }: PartnerAccount) => refreshing?.holder === holder;
  const take = () =>
    partnerAccounts.change(name, (current) => {
      const startedAt = clock.now();
      if (startedAt > deadlineMs) return undefined;
      // Planted fault: no-single-flight
      if (isLasting(current.refreshing?.until ?? 0, lockMs, startedAt)) return undefined;
      return { ...current, refreshing: begin(startedAt) };
    });
  let locked = await take();
  while (locked && !isHeldIn(locked)) {
    if (clock.now() + lookAgainMs >= deadlineMs) throw accountBusy(name);
    await clock.sleep(lookAgainMs);
    locked = await take();
  }

  const lock: AccountLock = {
    name,
    account: locked,
    async read() {
      const account = await partnerAccounts.read(name);
      return account && isHeldIn(account) ? account : undefined;
    },
    add: (account) => partnerAccounts.add({ ...account, refreshing: begin(clock.now()) }),
    async change(change) {
      const account = await partnerAccounts.change(name, (current) => {
        const { refreshing } = current;
        // Rule: no-write-without-the-lock
        return refreshing?.holder === holder ? { ...change(current), refreshing } : undefined;
      });
      return account && isHeldIn(account) ? account : undefined;
    },
    remove: () => partnerAccounts.remove(name, isHeldIn),
  };
  try {
    return await work(lock);
  } finally {
    // A lock that cannot be released expires by itself.
    await partnerAccounts
      .change(name, (current) => (isHeldIn(current) ? unlocked(current) : undefined))
      .catch(() => undefined);
  }
}

function unlocked({ refreshing: _refreshing, ...account }: PartnerAccount): PartnerAccount {
  return account;
}

export const accountBusy = (name: string) =>
  new BridgeFault(
    'account-busy',
    `somebody else is refreshing the token of ${name} or connecting it: try again in two minutes`,
  );

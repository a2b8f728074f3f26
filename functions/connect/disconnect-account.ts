import { BridgeFault } from '../../shared/domain/faults.ts';
import { withHold, withoutHolds } from '../../shared/domain/holds.ts';
import type { PartnerAccount } from '../../shared/domain/partner-account.ts';
import { rowMaxAgeMs } from '../../shared/partner-api/cached-rows.ts';
import { stopHold } from '../refresh-token/account-writes.ts';
import { type AccountLock, exclusively } from '../refresh-token/refresh-lock.ts';
import type { ConnectDeps } from './connected-row.ts';

/** How long to wait for a running refresh. */
const waitMs = 15_000;

/** After a stop, a worker may still begin work for this long: the age of a cached row, and a read of the advert's row. */
const stillAtWorkMs = rowMaxAgeMs + 1_000;

/** Removes a partner account's credentials and, on request, all its data. */
export function createDisconnect(deps: ConnectDeps) {
  const { vault, feedStates, clock, clockSkewMs = 5_000 } = deps;

  const locked = <T>(name: string, work: (lock: AccountLock) => Promise<T>): Promise<T> =>
    exclusively(deps, name, { deadlineMs: clock.now() + waitMs }, work);

  /**
   * A process that was frozen must not remove what was connected meanwhile.
   * @throws {BridgeFault} `account-busy` when the lock is not held any more
   */
  async function stillLocked(lock: AccountLock): Promise<PartnerAccount> {
    const account = await lock.read();
    if (account?.refreshing && account.refreshing.until > clock.now()) return account;
    throw new BridgeFault(
      'account-busy',
      `${lock.name} was changed while it was being disconnected: try again`,
    );
  }

  /** Stops polling and removes the credentials; the cursor and the history stay. @returns undefined for an unknown name */
  const removeCredentials = (name: string, isForgetting?: true): Promise<PartnerAccount | undefined> =>
    locked(name, async (lock) => {
      if (!lock.account) return undefined;
      await lock.change((account) => disconnected(account, isForgetting));
      const account = await stillLocked(lock);
      await vault.remove(name);
      return account;
    });

  /** The end of an earlier `PartnerAuthorizationRequired` is published when the account is connected again. */
  function disconnected(account: PartnerAccount, isForgetting?: true): PartnerAccount {
    // Planted fault: disconnect-forgets-stop
    const { token: _token, ...rest } = withoutHolds(account, ({ kind }) => kind !== 'operator');
    const held = withHold(rest, stopHold('disconnected', clock.now()));
    return isForgetting ? { ...held, forgetting: true } : held;
  }

  return {
    /** @returns whether the account existed */
    disconnect: async (name: string): Promise<boolean> => (await removeCredentials(name)) !== undefined,

    /**
     * The first half of forgetting: disconnects, so that the next `connect` begins a new generation. Returns when all
     * workers must know of the stop: one that does not, and finds an advert's row missing, would assign its first
     * sequence number a second time.
     * @returns the generation whose histories may be removed; undefined if the name is not known
     */
    async beginForget(name: string): Promise<number | undefined> {
      const account = await removeCredentials(name, true);
      if (account) await clock.sleep(stillAtWorkMs);
      return account?.generation;
    },

    /**
     * The second half: removes the cursor, and finally the account. Can be repeated.
     * @throws {BridgeFault} `account-busy` when the name was connected again in between
     */
    async endForget(name: string, generation: number): Promise<void> {
      // A generation is a number of seconds, and the next one of this name must be greater, even if another clock
      // assigns it.
      const surelyLater = (generation + 1) * 1000 + clockSkewMs;
      if (clock.now() < surelyLater) await clock.sleep(surelyLater - clock.now());
      await locked(name, async (lock) => {
        if (!lock.account) return;
        const account = await stillLocked(lock);
        // Planted fault: forgotten-while-connected
        if (account.generation !== generation || !account.forgetting) {
          throw new BridgeFault(
            'account-busy',
            `${name} was connected again while it was being forgotten: its earlier data is gone, the new connection stays`,
          );
        }
        await feedStates.remove(name);
        await lock.remove();
      });
    },
  };
}

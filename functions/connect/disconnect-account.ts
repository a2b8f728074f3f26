import { type Clock, toInstant } from '../../shared/domain/clock.ts';
import { PartnerError } from '../../shared/domain/faults.ts';
import type { PartnerAccount } from '../../shared/domain/partner-account.ts';
import { viewMaxAgeMs } from '../../shared/partner-api/tokens/account-views.ts';
import type { FeedStates } from '../../shared/ports/feed-states.ts';
import { changeAccount } from '../../shared/ports/partner-accounts.ts';
import type { TokenVault } from '../../shared/ports/token-vault.ts';
import { isUnanswered } from '../refresh-token/account-writes.ts';
import type { LockDeps } from '../refresh-token/refresh-lock.ts';
import { exclusively } from './exclusive.ts';

export interface DisconnectDeps extends LockDeps {
  readonly vault: Pick<TokenVault, 'remove'>;
  readonly feedStates: Pick<FeedStates, 'remove'>;
  readonly clock: Clock;
  /** How far the clock of whoever connects the name next may be behind this one, ms. Default 5,000. */
  readonly clockSkewMs?: number;
}

/** How long a refresh that is under way is waited for. */
const waitMs = 15_000;

/**
 * How long after its stop was written somebody may still begin work on an account that was seen before: as long as a view
 * of it is believed, and a moment until the advert's row has been read.
 */
const stillAtWorkMs = viewMaxAgeMs + 1_000;

/** Takes a partner account's credentials away, and on demand all that is known of it. */
export function createDisconnect(deps: DisconnectDeps) {
  const { accounts, vault, feedStates, clock, clockSkewMs = 5_000 } = deps;

  /** Nothing happens to a name that is unknown by then: somebody may just be connecting it. */
  const whenKnown = <T>(name: string, work: () => Promise<T>): Promise<T | undefined> =>
    exclusively<T | undefined>(deps, name, { deadlineMs: clock.now() + waitMs }, work, async () => undefined);

  const removeCredentials = (name: string, isForgetting = false): Promise<PartnerAccount | undefined> =>
    whenKnown(name, async () => {
      const account = await changeAccount(accounts, name, (now) =>
        disconnected(now, clock.now(), isForgetting || now.stop?.forgetting === true),
      );
      if (account) await vault.remove(name);
      return account;
    });

  /** Stops polling and removes the credentials; the cursor and the history stay. @returns whether it was known */
  async function disconnect(name: string): Promise<boolean> {
    return (await removeCredentials(name)) !== undefined;
  }

  /**
   * The first half of forgetting a partner account: disconnects it, and whoever connects its name from now on begins a new
   * generation. Then its histories up to the generation returned may be removed: this waits until all workers know of the
   * stop. One that does not, and finds no row of an advert any more, would give the advert's first number a second time.
   *
   * @returns undefined where the name is not known
   */
  async function beginForget(name: string): Promise<number | undefined> {
    const account = await removeCredentials(name, true);
    if (account) await clock.sleep(stillAtWorkMs);
    return account?.generation;
  }

  /**
   * The second half: removes the cursor, and last the account. May be done again.
   *
   * @param generation the one that {@link beginForget} returned
   * @throws {PartnerError} `account-busy` when the name was connected again in between
   */
  async function endForget(name: string, generation: number): Promise<void> {
    // A generation counts seconds, and the next one under this name has to be greater, by whatever clock.
    const surelyLater = (generation + 1) * 1000 + clockSkewMs;
    if (clock.now() < surelyLater) await clock.sleep(surelyLater - clock.now());
    await whenKnown(name, async () => {
      const account = (await accounts.read(name))?.value;
      // Planted fault: forgotten-while-connected
      if (account && (account.generation !== generation || !account.stop?.forgetting)) {
        throw new PartnerError(
          'account-busy',
          `${name} was connected again while it was being forgotten: what was before is gone, the new connection stays`,
        );
      }
      await feedStates.remove(name);
      await accounts.remove(name);
    });
  }

  /**
   * Forgets a partner account.
   *
   * @param removeHistories is told up to which generation; default: they stay, and are of no use to anybody
   * @returns whether the name was known
   */
  async function forget(
    name: string,
    removeHistories: (generation: number) => Promise<void> = async () => {},
  ): Promise<boolean> {
    const generation = await beginForget(name);
    if (generation === undefined) return false;
    await removeHistories(generation);
    await endForget(name, generation);
    return true;
  }

  return { disconnect, beginForget, endForget, forget };
}

/** Waits until it is connected again, as a person asked for; what the bus was told before is answered then. */
function disconnected(account: PartnerAccount, nowMs: number, isForgetting: boolean): PartnerAccount {
  const { token, pause: _pause, stop, ...rest } = account;
  const tokenVersion = token?.version ?? stop?.tokenVersion ?? '';
  const at = toInstant(nowMs);
  // Planted fault: disconnect-forgets-stop
  const unanswered = isUnanswered(stop) ? { unanswered: true } : {};
  const forgetting = isForgetting ? { forgetting: true } : {};
  return { ...rest, stop: { reason: 'disconnected', tokenVersion, at, ...unanswered, ...forgetting } };
}

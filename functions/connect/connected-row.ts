/** The row of a partner account during `connect`: first a generation that waits for its token, then with the token. */
import { toInstant } from '../../shared/domain/clock.ts';
import { BridgeFault } from '../../shared/domain/faults.ts';
import { withoutHolds } from '../../shared/domain/holds.ts';
import type { PartnerAccount } from '../../shared/domain/partner-account.ts';
import { renewableNow } from '../../shared/domain/renewal.ts';
import type { TokenPair } from '../../shared/domain/secret.ts';
import type { PartnerClient } from '../../shared/partner-api/client.ts';
import type { TokenVault } from '../../shared/ports/tokens.ts';
import type { AdvertHistories } from '../../shared/state/advert-histories.ts';
import type { BookKeeper } from '../../shared/state/books.ts';
import type { FeedStates } from '../../shared/state/feed-states.ts';
import { stopHold, withToken } from '../refresh-token/account-writes.ts';
import type { AccountLock, RefreshDeps } from '../refresh-token/refresh-lock.ts';

export interface ConnectDeps extends Omit<RefreshDeps, 'vault'> {
  readonly vault: Pick<TokenVault, 'write' | 'remove' | 'reserve'>;
  readonly feedStates: Pick<FeedStates, 'ofAccount' | 'register' | 'remove'>;
  readonly advertHistories: Pick<AdvertHistories, 'read'>;
  readonly bookKeeper: Pick<BookKeeper, 'read'>;
  readonly client: Pick<PartnerClient, 'requestTokens' | 'authorizeUrl' | 'readPage'>;
  /** Maximum lag of the clock of the process that next connects a forgotten name, ms. Default 5,000. */
  readonly clockSkewMs?: number;
  readonly settings: RefreshDeps['settings'] & {
    readonly overlapSeconds: number;
    /** Request rate of the whole bridge. Default: no request waits for its slot. */
    readonly maxRequestsPerSecond?: number;
  };
}

/** A generation is a number of seconds, and greater than all earlier ones of the same name. */
export const nextGeneration = (nowMs: number, earlier: readonly number[]): number =>
  Math.max(Math.floor(nowMs / 1000), ...earlier.map((generation) => generation + 1));

/**
 * Writes the row of the new generation, which waits for its token. From now on nothing of the previous user is used.
 * @throws {BridgeFault} `account-busy` when another `connect` has taken the name
 */
export async function beginRow({ clock }: ConnectDeps, lock: AccountLock, generation: number): Promise<void> {
  const { name } = lock;
  const now = clock.now();
  const waiting = { name, generation, connectedAt: toInstant(now) };
  const stop = stopHold('disconnected', now);
  const isBegun = lock.account
    ? await lock.change(({ holds = [] }) => ({
        ...waiting,
        // An operator's pause belongs to the name, not to the user.
        // Planted fault: pause-lost-by-connect
        holds: [stop, ...holds.filter(({ kind }) => kind === 'operator')],
      }))
    : await lock.add({ ...waiting, holds: [stop] });
  if (!isBegun)
    throw new BridgeFault(
      'account-busy',
      `somebody else connected ${name} at the same time, and nothing of yours was stored: check who, and connect it again if that is not the right user`,
    );
}

/**
 * Stores the token version in the row; from then on the account is polled.
 * @throws {BridgeFault} `account-busy` when another process has changed the account meanwhile: its state is newer
 */
export async function activateRow(
  { clock, settings: { bridge } }: ConnectDeps,
  lock: AccountLock,
  stored: { readonly generation: number; readonly version: string; readonly pair: TokenPair },
): Promise<PartnerAccount> {
  const { generation, version, pair } = stored;
  const account = await lock.change((current) => {
    const free = withoutHolds(renewableNow(current), ({ kind }) => kind !== 'operator');
    return { ...withToken(free, version, pair, { bridge, observedAt: clock.now() }), generation };
  });
  if (account) return account;
  throw new BridgeFault(
    'account-busy',
    `connecting ${lock.name} took so long that somebody else refreshed its token, changed or forgot it meanwhile: connect it again`,
  );
}

/** The row of a partner account during `connect`: first a generation that waits for its token, then with the token. */
import type { FeedPage } from '../../shared/contract/partner-service.ts';
import { toInstant } from '../../shared/domain/clock.ts';
import { BridgeFault } from '../../shared/domain/faults.ts';
import { withoutHolds } from '../../shared/domain/holds.ts';
import type { PartnerAccount } from '../../shared/domain/partner-account.ts';
import type { Secret, TokenPair } from '../../shared/domain/secret.ts';
import type { CallOptions, PartnerClient } from '../../shared/partner-api/client.ts';
import type { FeedQuery } from '../../shared/ports/readers.ts';
import type { TokenVault } from '../../shared/ports/tokens.ts';
import type { AdvertHistories } from '../../shared/state/advert-histories.ts';
import type { BookKeeper } from '../../shared/state/books.ts';
import type { FeedStates } from '../../shared/state/feed-states.ts';
import { restored, stopHold } from '../refresh-token/account-writes.ts';
import type { RefreshDeps } from '../refresh-token/refresh-lock.ts';

/** For all operators' commands about credentials. */
export interface ConnectDeps extends Omit<RefreshDeps, 'vault'> {
  readonly vault: Pick<TokenVault, 'write' | 'remove'>;
  readonly feedStates: Pick<FeedStates, 'list' | 'register' | 'remove'>;
  readonly advertHistories: Pick<AdvertHistories, 'read'>;
  readonly bookKeeper: Pick<BookKeeper, 'read'>;
  readonly client: Pick<PartnerClient, 'requestTokens' | 'authorizeUrl'> & {
    feedPage(
      token: Secret,
      query: FeedQuery,
      options: CallOptions,
    ): Promise<{ page: Omit<FeedPage, 'nextCursor'> }>;
  };
  /** Maximum lag of the clock of the process that next connects a forgotten name, ms. Default 5,000. */
  readonly clockSkewMs?: number;
  readonly settings: RefreshDeps['settings'] & {
    readonly overlapSeconds: number;
    /** Request rate of the whole bridge. Default: no request waits for its slot. */
    readonly maxRequestsPerSecond?: number;
  };
}

export interface Lock {
  readonly name: string;
  readonly holder: string;
  /** Whether the account already existed and was locked. */
  readonly isKnown: boolean;
}

/**
 * Writes the row of the new generation, which waits for its token. From now on nothing of the previous user is used.
 * @throws {BridgeFault} `account-busy` when another `connect` has taken the name
 */
export async function beginRow(
  { accounts, clock, settings }: ConnectDeps,
  { name, holder, isKnown }: Lock,
  generation: number,
): Promise<void> {
  const startedAt = clock.now();
  const waiting: PartnerAccount = {
    ...{ name, generation, connectedAt: toInstant(startedAt) },
    holds: [stopHold('disconnected', startedAt)],
    refreshing: { holder, startedAt, until: startedAt + settings.lockMs },
  };
  if (!isKnown && (await accounts.add(waiting))) return;
  // The write may be our own, repeated by an SDK retry: that counts as success.
  const account = await accounts.change(name, (now) => {
    if (now.refreshing?.holder !== holder || now.generation === generation) return undefined;
    // An operator's pause belongs to the name, not to the user.
    // Planted fault: pause-lost-by-connect
    const kept = now.holds?.filter(({ kind }) => kind === 'operator') ?? [];
    return { ...waiting, holds: [...(waiting.holds ?? []), ...kept] };
  });
  if (account?.refreshing?.holder !== holder) throw connectedElsewhere(name);
}

/**
 * Stores the token version in the row; from then on the account is polled.
 * @throws {BridgeFault} when another process has changed the account in the meantime, because its state is newer
 */
export async function activateRow(
  { accounts, clock, settings: { bridge } }: ConnectDeps,
  { name, holder }: Lock,
  { pair, ...connected }: { readonly generation: number; readonly version: string; readonly pair: TokenPair },
): Promise<PartnerAccount> {
  const { generation, version } = connected;
  const token = { version, expiresAt: pair.expiresAt, usedAt: pair.obtainedAt };
  const account = await accounts.change(name, (now) => {
    if (now.refreshing?.holder !== holder) return undefined;
    const free = withoutHolds(now, ({ kind }) => kind !== 'operator');
    return { ...restored(free, version, { bridge, observedAt: clock.now() }), generation, token };
  });
  if (!account)
    throw new Error(`partner account ${name} was forgotten while it was being connected: connect it again`);
  if (account.refreshing?.holder === holder) return account;
  throw new BridgeFault(
    'account-busy',
    `connecting ${name} took so long that somebody else refreshed its token or changed it meanwhile: connect it again`,
  );
}

export const connectedElsewhere = (name: string) =>
  new BridgeFault(
    'account-busy',
    `somebody else connected ${name} at the same time, and nothing of yours was stored: check who, and connect it again if that is not the right user`,
  );

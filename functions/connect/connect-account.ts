/**
 * Creates a partner account, or gives an existing one new credentials. Nothing is stored unless the service returned a
 * token pair with a sufficient scope.
 *
 * A new generation (for a new name, or for a known name that another user takes over) begins with the account's row.
 * The row is stopped until the pair is stored and the feed is registered. So a polled row always has a feed of its
 * generation and a token of its user, even if `connect` was interrupted; and if two people connect a new name at once,
 * only one gets it.
 */

import type { ConnectedAccount } from '../../shared/contract/connect.ts';
import { feeds } from '../../shared/contract/feeds.ts';
import { toInstant } from '../../shared/domain/clock.ts';
import { PartnerError } from '../../shared/domain/faults.ts';
import type { TokenPair } from '../../shared/domain/token-pair.ts';
import { type FeedStates, feedsOfAccount } from '../../shared/ports/feed-states.ts';
import type { ReceivedTokens } from '../../shared/ports/token-endpoint.ts';
import type { TokenVault } from '../../shared/ports/token-vault.ts';
import { publishOwedEvents } from '../refresh-token/account-writes.ts';
import { releaseRefreshLock } from '../refresh-token/refresh-lock.ts';
import type { CallOptions, RefreshDeps } from '../refresh-token/refresh-request.ts';
import { storePair } from '../refresh-token/store-pair.ts';
import { createTokenRequests } from '../refresh-token/token-requests.ts';
import { pairOf, warnOfOddAnswer } from '../refresh-token/tokens.ts';
import { connectedElsewhere, createConnectedRow, type Lock } from './connected-row.ts';
import { exclusively } from './exclusive.ts';
import { grantOf, type HandedIn, refuseSmallScope, sayingUsed } from './grant.ts';
import { createUserVerification, type UserVerificationDeps } from './verify-user.ts';

export interface ConnectAccountDeps
  extends Omit<RefreshDeps, 'settings' | 'random' | 'vault'>,
    UserVerificationDeps {
  readonly vault: Pick<TokenVault, 'write'>;
  readonly feedStates: Pick<FeedStates, 'list' | 'register'>;
  readonly settings: RefreshDeps['settings'] & UserVerificationDeps['settings'];
}

/** The options are described in shared/contract/connect.ts. */
export type ConnectRequest = {
  readonly partnerAccount: string;
  readonly since?: string;
  readonly sameUser?: boolean;
  readonly newUser?: boolean;
} & HandedIn;

interface Exchanged {
  readonly pair: TokenPair;
  readonly received: ReceivedTokens;
  /** The current time by the service's clock, minus the overlap. */
  readonly recently: string;
  /** Generations of the feeds that a known name has. */
  readonly registered: readonly number[];
}

export function createConnectAccount(deps: ConnectAccountDeps) {
  const { accounts, feedStates, clock, newId, observer, settings } = deps;
  const row = createConnectedRow(deps);
  const { firstPage, verifyUser } = createUserVerification(deps);
  const requestTokens = createTokenRequests(deps);

  /**
   * @throws {PartnerError} `grant-rejected`, `client-rejected`, `scope-refused`, `other-user`, `account-busy`, or a
   * transient one: nothing is stored then
   */
  async function connect(request: ConnectRequest, options: CallOptions): Promise<ConnectedAccount> {
    const { partnerAccount: name } = request;
    const again = (holder: string) => exchange(request, { name, holder, isKnown: true }, options);
    // Planted fault: connect-without-lock
    return exclusively(deps, name, options, again, () => connectFirst(request, options));
  }

  /** There is no row to lock yet; its first write takes the lock. */
  async function connectFirst(request: ConnectRequest, options: CallOptions): Promise<ConnectedAccount> {
    const { partnerAccount: name } = request;
    const holder = newId();
    try {
      return await exchange(request, { name, holder, isKnown: false }, options);
    } finally {
      await releaseRefreshLock(accounts, name, holder);
    }
  }

  async function exchange(
    request: ConnectRequest,
    lock: Lock,
    options: CallOptions,
  ): Promise<ConnectedAccount> {
    // Read before the given code or token is used up: an unreadable row would make `connect` fail afterwards.
    const registered = lock.isKnown ? await generationsOfFeeds(lock.name) : [];
    const received = await requestTokens(grantOf(request, settings.requiredScope), options);
    const pair = pairOf(received, 'refreshToken' in request ? { refreshToken: request.refreshToken } : {});
    if (!pair) {
      const lacking = received.answer.access_token === undefined ? 'access_token' : 'refresh_token';
      throw new PartnerError('contract-broken', `the token endpoint returned no usable ${lacking}`);
    }
    warnOfOddAnswer(received, lock.name, observer);
    const recently = toInstant(received.serviceTime - settings.overlapSeconds * 1000);
    try {
      return await store(request, { pair, received, recently, registered }, lock, options);
    } catch (error) {
      throw 'refreshToken' in request ? sayingUsed(error, request.refreshToken, pair) : error;
    }
  }

  async function store(
    { since: wanted, newUser, sameUser }: ConnectRequest,
    { pair, received, recently, registered }: Exchanged,
    lock: Lock,
    { deadlineMs }: CallOptions,
  ): Promise<ConnectedAccount> {
    refuseSmallScope(pair, received, settings.requiredScope);
    const { name } = lock;
    const look = { partnerAccount: name, token: pair.accessToken, deadlineMs };
    const known = await accounts.read(name);
    if (known && !lock.isKnown) throw connectedElsewhere(name);
    const last = Math.max(known?.generation ?? 0, ...registered);
    // A generation that is being forgotten cannot be continued: the rest of its data is about to be removed.
    // Planted fault: forgotten-while-connected
    const isAnew = !known || newUser || known.forgetting;
    // A generation is a number of seconds, and greater than all earlier ones of the same name.
    const generation = isAnew ? Math.max(Math.floor(clock.now() / 1000), last + 1) : last;
    const isNew = !registered.includes(generation);
    const userUnverified = known && !isNew && !sameUser ? await verifyUser(known, look) : undefined;
    if (isAnew) await row.begin(lock, generation);
    const follows = isAnew ? undefined : known?.token?.version;
    const origin = { generation, ...(follows !== undefined && { follows }) };
    const version = await storePair(deps, name, { ...pair, ...origin }, { deadlineMs });
    const since = wanted ?? recently;
    const beginning = { since, resets: 0, resetsInARow: 0 } as const;
    for (const { name: feed } of Object.values(feeds))
      await feedStates.register({ partnerAccount: name, feed, generation, ...beginning });
    // This is the last step, because it makes the drain poll the feed.
    await publishOwedEvents(deps, await row.activate(lock, generation, version, pair));
    observer.info('partner account connected', { partnerAccount: name, generation });
    return {
      partnerAccount: name,
      generation,
      scope: pair.scope,
      tokenExpiresAt: toInstant(pair.expiresAt),
      isNew,
      ...(userUnverified === undefined ? {} : { userUnverified }),
      feed: await firstPage(isNew ? since : recently, look),
    };
  }

  async function generationsOfFeeds(name: string): Promise<number[]> {
    return (await feedsOfAccount(feedStates, name)).map(({ generation }) => generation);
  }

  return { connect };
}

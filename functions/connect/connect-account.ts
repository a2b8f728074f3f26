/**
 * Creates a partner account, or gives an existing one new credentials. Nothing is stored unless the service returned a
 * token pair with a sufficient scope.
 *
 * A new generation (for a new name, or for a known name that another user takes over) begins with the account's row.
 * The row is stopped until the pair is stored and the feed is registered. So a polled row always has a feed of its
 * generation and a token of its user, even if `connect` was interrupted; and if two people connect a new name at once,
 * only one gets it.
 */

import { feeds } from '../../shared/contract/messages.ts';
import { type Deadline, toInstant } from '../../shared/domain/clock.ts';
import { BridgeFault } from '../../shared/domain/faults.ts';
import type { Secret, TokenPair } from '../../shared/domain/secret.ts';
import type { Grant } from '../../shared/ports/tokens.ts';
import { endpointAnswered, publishOwedEvents } from '../refresh-token/account-writes.ts';
import { type AccountLock, exclusively } from '../refresh-token/refresh-lock.ts';
import { lackingScopes, pairOf, storePair, warnOfOddAnswer } from '../refresh-token/token-pairs.ts';
import { activateRow, beginRow, type ConnectDeps, nextGeneration } from './connected-row.ts';
import type { ConnectedAccount } from './requests.ts';
import { createUserVerification } from './verify-user.ts';

/** The options are described in shared/contract/invocations.ts. */
export type ConnectRequest = {
  readonly partnerAccount: string;
  readonly since?: string;
  readonly sameUser?: boolean;
  readonly newUser?: boolean;
} & ({ readonly refreshToken: Secret } | { readonly code: Secret; readonly redirectUri?: string });

/** What the service has given for the code or refresh token. */
interface Exchanged {
  readonly pair: TokenPair;
  /** The current time by the service's clock, minus the overlap. */
  readonly recently: string;
  /** Generations of the feeds that a known name has. */
  readonly registered: readonly number[];
}

export function createConnectAccount(deps: ConnectDeps) {
  const { applicationSecret, client, feedStates, clock, observer, settings } = deps;
  const { firstPage, verifyUser } = createUserVerification(deps);

  async function exchange(
    request: ConnectRequest,
    lock: AccountLock,
    options: Deadline,
  ): Promise<ConnectedAccount> {
    const { name } = lock;
    if (lock.account?.moving)
      throw new BridgeFault('account-busy', `${name} is being moved here: finish that with \`move\``);
    // Read before the given code or token is used up: an unreadable row would make `connect` fail afterwards.
    const feedRows = lock.account ? await feedStates.ofAccount(name) : [];
    const handedIn = 'refreshToken' in request ? { refreshToken: request.refreshToken } : undefined;
    const grant: Grant =
      'code' in request
        ? {
            grant_type: 'authorization_code',
            scope: settings.requiredScope,
            code: request.code,
            redirect_uri: request.redirectUri,
          }
        : { grant_type: 'refresh_token', refresh_token: request.refreshToken };
    await deps.vault.reserve?.();
    const received = await client.requestTokens(await applicationSecret.read(), grant, options);
    const pair = pairOf(received, handedIn ?? {});
    if (!pair) {
      const lacking = received.answer.access_token === undefined ? 'access_token' : 'refresh_token';
      throw new BridgeFault('contract-broken', `the token endpoint returned no usable ${lacking}`);
    }
    warnOfOddAnswer(received, name, observer);
    try {
      const missing = lackingScopes(received, pair, settings.requiredScope).join(', ');
      if (missing)
        throw new BridgeFault(
          'scope-refused',
          `the scope granted is too small: "${pair.scope}" lacks ${missing}`,
        );
      const recently = toInstant(received.serviceTime - settings.overlapSeconds * 1000);
      const registered = feedRows.map(({ generation }) => generation);
      return await store(request, { pair, recently, registered }, lock, options);
    } catch (error) {
      throw handedIn ? sayingUsed(error, handedIn.refreshToken, pair) : error;
    }
  }

  async function store(
    { since: wanted, newUser, sameUser }: ConnectRequest,
    { pair, recently, registered }: Exchanged,
    lock: AccountLock,
    { deadlineMs }: Deadline,
  ): Promise<ConnectedAccount> {
    const { name, account: known } = lock;
    const look = { partnerAccount: name, token: pair.accessToken, deadlineMs };
    // A generation that is being forgotten cannot be continued: the rest of its data is about to be removed.
    // Planted fault: forgotten-while-connected
    const isAnew = !known || newUser || known.forgetting;
    const earlier = [known?.generation ?? 0, ...registered];
    const generation = isAnew ? nextGeneration(clock.now(), earlier) : Math.max(...earlier);
    const isNew = !registered.includes(generation);
    const userUnverified = known && !isNew && !sameUser ? await verifyUser(known, look) : undefined;
    if (isAnew) await beginRow(deps, lock, generation);
    // If `connect` ends here, a refresh names the pair that follows: never one of a user who may be another, untold.
    // Rule: unverified-pair-follows
    const isSure = !isAnew && userUnverified === undefined;
    const follows = isSure ? known?.token?.version : undefined;
    const version = await storePair(deps, name, { ...pair, generation, follows }, { deadlineMs });
    const since = wanted ?? recently;
    const beginning = { since, resets: 0, resetsInARow: 0 } as const;
    for (const { name: feed } of Object.values(feeds))
      await feedStates.register({ partnerAccount: name, feed, generation, ...beginning });
    // This is the last step, because it makes the drain poll the feed.
    await publishOwedEvents(deps, await activateRow(deps, lock, { generation, version, pair }));
    await endpointAnswered(deps);
    observer.info('partner account connected', { partnerAccount: name, generation });
    return {
      partnerAccount: name,
      generation,
      scope: pair.scope,
      tokenExpiresAt: toInstant(pair.expiresAt),
      isNew,
      ...(userUnverified !== undefined && { userUnverified }),
      feed: await firstPage(isNew ? since : recently, look),
    };
  }

  /**
   * @throws {BridgeFault} `grant-rejected`, `client-rejected`, `scope-refused`, `other-user`, `account-busy` …:
   * nothing is stored
   */
  return (request: ConnectRequest, options: Deadline): Promise<ConnectedAccount> =>
    // Planted fault: connect-without-lock
    exclusively(deps, request.partnerAccount, options, (lock) => exchange(request, lock, options));
}

/** Adds a note about the given refresh token to the fault, because the service may have replaced it by now. */
function sayingUsed(error: unknown, handedIn: Secret, { refreshToken }: TokenPair): unknown {
  if (!(error instanceof BridgeFault)) return error;
  const fate = refreshToken.equals(handedIn)
    ? 'the refresh token handed in has been used, and is still the newest one'
    : 'the service has replaced the refresh token handed in, and the new one was not stored: ' +
      'do not hand the old one in again, but have the user authorize anew, or get the newest one from the service';
  const { code, message, status, serviceCode, retryAfterMs } = error;
  return new BridgeFault(code, `${message} (${fate})`, { status, serviceCode, retryAfterMs, cause: error });
}

/**
 * Makes a partner account known, or gives a known one new credentials. Nothing is stored unless the service gave a pair
 * whose scope suffices.
 *
 * A new generation (of a new name, or of a known one that another user takes over) begins with the account's row, which
 * waits until the pair is stored and the feed registered: so a row that is polled always has a feed of its generation
 * and a token of its user, wherever a `connect` was cut short, and of two first ones at once only one gets the name.
 */

import { toInstant } from '../../shared/domain/clock.ts';
import { PartnerError } from '../../shared/domain/faults.ts';
import { feeds } from '../../shared/domain/feed.ts';
import type { PartnerAccount } from '../../shared/domain/partner-account.ts';
import type { Secret } from '../../shared/domain/secret.ts';
import type { TokenPair } from '../../shared/domain/token-pair.ts';
import type { KnownAdverts } from '../../shared/ports/advert-histories.ts';
import type { FeedProbe } from '../../shared/ports/feed-reader.ts';
import type { FeedRegister } from '../../shared/ports/feed-states.ts';
import { changeAccount } from '../../shared/ports/partner-accounts.ts';
import type { Grant } from '../../shared/ports/token-endpoint.ts';
import type { TokenVault } from '../../shared/ports/token-vault.ts';
import { disconnected, payOwedEvents, restored } from './account-writes.ts';
import { busy, releaseRefreshLock, withRefreshLock } from './refresh-lock.ts';
import type { CallOptions, RefreshDeps } from './refresh-request.ts';
import { createTokenRequests } from './token-requests.ts';
import { missingScopes, pairOf, warnOfType } from './tokens.ts';
import { createUserVerification, type FirstPage, type UserVerificationDeps } from './verify-user.ts';

export interface ConnectDeps extends Omit<RefreshDeps, 'settings' | 'random'> {
  readonly vault: TokenVault;
  readonly feedStates: FeedRegister;
  readonly feedProbe: FeedProbe;
  readonly knownAdverts: KnownAdverts;
  readonly bookKeeper: UserVerificationDeps['bookKeeper'];
  readonly settings: RefreshDeps['settings'] & { readonly overlapSeconds: number };
}

export type ConnectRequest = {
  readonly partnerAccount: string;
  /** Where reading of a new feed begins; default: now by the service's clock, less the overlap. Ignored for a known one. */
  readonly since?: string;
  /** For a known name: it is taken for granted that the same user authorized. Default false: refused where not. */
  readonly sameUser?: boolean;
  /** Begins a new generation: nothing of the user that a known name had is used any more. Default false. */
  readonly newUser?: boolean;
} & ({ readonly refreshToken: Secret } | { readonly code: Secret; readonly redirectUri?: string });

export interface Connected {
  readonly partnerAccount: string;
  readonly generation: number;
  readonly scope: string;
  readonly tokenExpiresAt: string;
  /** Reading begins anew: no cursor, no history. False: the name was known already, its cursor and generation stay. */
  readonly isNew: boolean;
  /** For a known name: why it could not be told whether the same user authorized; absent where it was told. */
  readonly userUnverified?: string;
  readonly feed: FirstPage;
}

const busyLookMs = 500;
/** How long a refresh that is under way is waited for. */
const disconnectMs = 15_000;

export function createConnect(deps: ConnectDeps) {
  const { accounts, vault, feedStates, clock, newId, observer, settings } = deps;
  const { firstPage, verifyUser } = createUserVerification(deps);
  const requestTokens = createTokenRequests(deps);

  /**
   * @throws {PartnerError} `grant-rejected`, `client-rejected`, `scope-refused`, `other-user`, `account-busy`, or a
   * passing one: nothing is stored then
   */
  async function connect(request: ConnectRequest, options: CallOptions): Promise<Connected> {
    const { partnerAccount: name } = request;
    const again = (holder: string) => exchange(request, { holder, isKnown: true }, options);
    return alone(name, options, again, () => connectFirst(request, options));
  }

  /** There is no row yet that could be locked: it is locked from its first writing on. */
  async function connectFirst(request: ConnectRequest, options: CallOptions): Promise<Connected> {
    const holder = newId();
    try {
      return await exchange(request, { holder, isKnown: false }, options);
    } finally {
      await releaseRefreshLock(accounts, request.partnerAccount, holder);
    }
  }

  /**
   * A refresh under way could store its pair, of a grant that is dead by now, after the new one: so nobody refreshes
   * meanwhile.
   *
   * @param unknown instead of `work` where there is no such account
   */
  async function alone<T>(
    name: string,
    { deadlineMs }: CallOptions,
    work: (holder: string) => Promise<T>,
    unknown: () => Promise<T>,
  ): Promise<T> {
    for (;;) {
      if (!(await accounts.read(name))) return unknown();
      const result = await withRefreshLock(deps, name, work);
      if (result !== busy) return result;
      if (clock.now() + busyLookMs >= deadlineMs) {
        throw new PartnerError(
          'account-busy',
          `the token of ${name} is being refreshed, or somebody else connects it right now: try again in two minutes`,
        );
      }
      await clock.sleep(busyLookMs);
    }
  }

  async function exchange(request: ConnectRequest, lock: Lock, options: CallOptions): Promise<Connected> {
    const { partnerAccount: name } = request;
    const received = await requestTokens(grantOf(request, settings.requiredScope), options);
    const pair = pairOf(received, 'refreshToken' in request ? { refreshToken: request.refreshToken } : {});
    if (!pair) {
      const lacking = received.answer.access_token === undefined ? 'access_token' : 'refresh_token';
      throw new PartnerError('contract-broken', `the token endpoint returned no usable ${lacking}`);
    }
    warnOfType(received, name, observer);
    const recently = toInstant(received.serviceTime - settings.overlapSeconds * 1000);
    try {
      return await store(request, { pair, recently }, lock, options);
    } catch (error) {
      throw 'refreshToken' in request ? sayingUsed(error, request.refreshToken, pair) : error;
    }
  }

  async function store(
    request: ConnectRequest,
    { pair, recently }: Exchanged,
    lock: Lock,
    options: CallOptions,
  ): Promise<Connected> {
    const { partnerAccount: name } = request;
    refuseSmallScope(pair, settings.requiredScope);

    const look = { partnerAccount: name, token: pair.accessToken, deadlineMs: options.deadlineMs };
    const known = (await accounts.read(name))?.value;
    if (known && !lock.isKnown) throw connectedElsewhere(name);
    const registered = known ? await generationsOfFeeds(name) : [];
    const last = Math.max(known?.generation ?? 0, ...registered);
    // It counts seconds, and is greater than any before under its name.
    // What is left of a generation that is being forgotten may be gone in a moment.
    const isAnew = !known || request.newUser || known.stop?.forgetting;
    const generation = isAnew ? Math.max(Math.floor(clock.now() / 1000), last + 1) : last;
    const isNew = !registered.includes(generation);
    const userUnverified = known && !isNew && !request.sameUser ? await verifyUser(known, look) : undefined;
    if (isAnew) await begin({ name, generation, lock });
    const version = await vault.write(name, pair);
    const since = request.since ?? recently;
    for (const { name: feed } of feeds) {
      await feedStates.register({
        partnerAccount: name,
        feed,
        generation,
        since,
        resets: 0,
        resetsInARow: 0,
      });
    }
    // Last, for it is what makes the drain poll the feed.
    const account = await tell({ name, generation, lock }, version, pair);
    await payOwedEvents(deps, account);
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
    const states = await feedStates.list();
    return states.filter(({ partnerAccount }) => partnerAccount === name).map(({ generation }) => generation);
  }

  /**
   * Makes the row one of the new generation that waits for its token. From now on nothing of a user before is used.
   *
   * @throws {PartnerError} `account-busy` when the name is somebody else's
   */
  async function begin({ name, generation, lock: { holder, isKnown } }: Claim): Promise<void> {
    const startedAt = clock.now();
    const at = toInstant(startedAt);
    const waiting: PartnerAccount = {
      name,
      generation,
      connectedAt: at,
      stop: { reason: 'disconnected', tokenVersion: '', at },
      refreshing: { holder, startedAt, until: startedAt + settings.lockMs },
    };
    if (!isKnown && (await accounts.write(waiting, 0))) return;
    // Also where it was ours that was written, by a client that repeats by itself.
    const account = await changeAccount(accounts, name, (now) =>
      now.refreshing?.holder === holder && now.generation !== generation ? waiting : undefined,
    );
    if (account?.refreshing?.holder !== holder) throw connectedElsewhere(name);
  }

  /** @throws {PartnerError} when somebody else had the account in hand since: what they found is newer than this */
  async function tell(
    { name, generation, lock: { holder } }: Claim,
    version: string,
    pair: TokenPair,
  ): Promise<PartnerAccount> {
    const token = { version, expiresAt: pair.expiresAt, usedAt: pair.obtainedAt };
    const isOurs = (now: PartnerAccount) => now.refreshing?.holder === holder;
    const account = await changeAccount(accounts, name, (now) =>
      isOurs(now) ? { ...restored(now, version, clock.now()), generation, token } : undefined,
    );
    if (!account)
      throw new Error(`partner account ${name} was forgotten while it was being connected: connect it again`);
    if (!isOurs(account)) {
      throw new PartnerError(
        'account-busy',
        `connecting ${name} took so long that its token was refreshed, or it was changed, meanwhile: connect it again`,
      );
    }
    return account;
  }

  /** Stops polling and removes the credentials; the cursor and the history stay. @returns whether it was known */
  async function disconnect(name: string): Promise<boolean> {
    return (await removeCredentials(name)) !== undefined;
  }

  /** Not of a name that is unknown by then: somebody may just be connecting it. */
  async function removeCredentials(
    name: string,
    how?: { readonly forgetting: boolean },
  ): Promise<PartnerAccount | undefined> {
    const remove = async () => {
      const account = await changeAccount(accounts, name, (now) => disconnected(now, clock.now(), how));
      if (account) await vault.remove(name);
      return account;
    };
    return alone(name, { deadlineMs: clock.now() + disconnectMs }, remove, async () => undefined);
  }

  /**
   * The first half of forgetting a partner account: disconnects it, and whoever connects its name from now on begins a new
   * generation. Then its histories up to the generation returned may be removed.
   *
   * @returns undefined where the name is not known
   */
  async function beginForget(name: string): Promise<number | undefined> {
    return (await removeCredentials(name, { forgetting: true }))?.generation;
  }

  /**
   * The second half: removes the cursor, and last the account. May be done again.
   *
   * @param generation the one that {@link beginForget} returned
   * @throws {PartnerError} `account-busy` when the name was connected again in between
   */
  async function endForget(name: string, generation: number): Promise<void> {
    // A generation counts seconds: the next one under this name has to be greater.
    const nextSecond = (generation + 1) * 1000;
    if (clock.now() < nextSecond) await clock.sleep(nextSecond - clock.now());
    const remove = async () => {
      const account = (await accounts.read(name))?.value;
      if (account && (account.generation !== generation || !account.stop?.forgetting)) {
        throw new PartnerError(
          'account-busy',
          `${name} was connected again while it was being forgotten: what was before is gone, the new connection stays`,
        );
      }
      await feedStates.remove(name);
      await accounts.remove(name);
    };
    await alone(name, { deadlineMs: clock.now() + disconnectMs }, remove, async () => undefined);
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

  return { connect, disconnect, beginForget, endForget, forget };
}

export type Connect = ReturnType<typeof createConnect>;

interface Lock {
  readonly holder: string;
  /** Whether there was an account that could be locked. */
  readonly isKnown: boolean;
}

interface Claim {
  readonly name: string;
  readonly generation: number;
  readonly lock: Lock;
}

interface Exchanged {
  readonly pair: TokenPair;
  /** Now by the service's clock, less the overlap. */
  readonly recently: string;
}

const connectedElsewhere = (name: string) =>
  new PartnerError(
    'account-busy',
    `${name} was connected by somebody else in the same moment, and nothing of this was stored: see who it is, and connect it again if that is not the right user`,
  );

/** Says what became of a refresh token that was handed in, for the service may have replaced it by now. */
function sayingUsed(error: unknown, handedIn: Secret, { refreshToken }: TokenPair): unknown {
  if (!(error instanceof PartnerError)) return error;
  const fate = refreshToken.equals(handedIn)
    ? 'the refresh token handed in has been used, and is still the newest one'
    : 'the service has replaced the refresh token handed in, and the new one was not stored: ' +
      'do not hand the old one in again, but have the user authorize anew, or get the newest one from the service';
  const { code, status, serviceCode, retryAfterMs } = error;
  const details = {
    ...(status === undefined ? {} : { status }),
    ...(serviceCode === undefined ? {} : { serviceCode }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
  return new PartnerError(code, `${error.message} (${fate})`, { ...details, cause: error });
}

function grantOf(request: ConnectRequest, scope: string): Grant {
  if ('refreshToken' in request) return { type: 'refresh_token', refreshToken: request.refreshToken };
  const { code, redirectUri } = request;
  return { type: 'authorization_code', code, scope, ...(redirectUri === undefined ? {} : { redirectUri }) };
}

function refuseSmallScope({ scope }: TokenPair, required: string): void {
  const missing = missingScopes(scope, required);
  if (missing.length === 0) return;
  throw new PartnerError(
    'scope-refused',
    `the scope granted is too small: "${scope}" lacks ${missing.join(', ')}`,
  );
}

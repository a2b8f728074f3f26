/**
 * Makes a partner account known, or gives a known one new credentials. Nothing is stored unless the service gave a pair
 * whose scope suffices.
 */
import { changeAccount } from '../../shared/domain/accounts.ts';
import { toInstant } from '../../shared/domain/clock.ts';
import { PartnerFault } from '../../shared/domain/faults.ts';
import { feeds } from '../../shared/domain/feed.ts';
import type { PartnerAccount, TokenPair } from '../../shared/domain/ports.ts';
import type { Secret } from '../../shared/domain/secret.ts';
import { disconnected, payOwedEvents, restored } from './account-writes.ts';
import { createFirstLook, type FirstLookDeps, type FirstPage } from './first-look.ts';
import type { FeedLook, FeedRegister, Grant, KnownAdverts, TokenVault } from './ports.ts';
import { busy, withRefreshLock } from './refresh-lock.ts';
import type { CallOptions, RefreshDeps } from './refresh-token.ts';
import { createTokenRequests } from './token-requests.ts';
import { missingScopes, pairOf, warnOfType } from './tokens.ts';

export interface ConnectDeps extends Omit<RefreshDeps, 'settings' | 'random'> {
  readonly vault: TokenVault;
  readonly feedStates: FeedRegister;
  readonly feedLook: FeedLook;
  readonly knownAdverts: KnownAdverts;
  readonly bookKeeper: FirstLookDeps['bookKeeper'];
  readonly settings: RefreshDeps['settings'] & { readonly overlapSeconds: number };
}

export type ConnectRequest = {
  readonly partnerAccount: string;
  /** Where reading of the feed begins; default: now by the service's clock, less the overlap. Ignored for a known feed. */
  readonly since?: string;
  /** For a known name: it is taken for granted that the same user authorized. Default false: refused where not. */
  readonly sameUser?: boolean;
} & ({ readonly refreshToken: Secret } | { readonly code: Secret; readonly redirectUri?: string });

export interface Connected {
  readonly partnerAccount: string;
  readonly generation: number;
  readonly scope: string;
  readonly tokenExpiresAt: string;
  /** False: the name was known already, its cursor and generation stay. */
  readonly isNew: boolean;
  /** For a known name: why it could not be told whether the same user authorized; absent where it was told. */
  readonly userUnverified?: string;
  readonly feed: FirstPage;
}

const busyLookMs = 500;
/** How long a refresh that is under way is waited for. */
const disconnectMs = 15_000;

export function createConnect(deps: ConnectDeps) {
  const { accounts, vault, feedStates, clock, observer, settings } = deps;
  const { firstPage, verifyUser } = createFirstLook(deps);
  const requestTokens = createTokenRequests(deps);

  /**
   * @throws {PartnerFault} `grant-rejected`, `client-rejected`, `scope-refused`, `other-user`, or a passing one: nothing
   * is stored then
   */
  async function connect(request: ConnectRequest, options: CallOptions): Promise<Connected> {
    return alone(request.partnerAccount, options, (holder) => exchange(request, holder, options));
  }

  /**
   * A refresh under way could store its pair, of a grant that is dead by now, after the new one: so nobody refreshes
   * meanwhile. An account that is not there yet has nobody who would.
   */
  async function alone<T>(
    name: string,
    { deadlineMs }: CallOptions,
    work: (holder?: string) => Promise<T>,
  ): Promise<T> {
    if (!(await accounts.read(name))) return work();
    for (;;) {
      const result = await withRefreshLock(deps, name, work);
      if (result !== busy) return result;
      if (clock.now() + busyLookMs >= deadlineMs) {
        throw new PartnerFault(
          'passing',
          `the token of ${name} is being refreshed right now: try again in two minutes`,
        );
      }
      await clock.sleep(busyLookMs);
    }
  }

  async function exchange(
    request: ConnectRequest,
    holder: string | undefined,
    options: CallOptions,
  ): Promise<Connected> {
    const { partnerAccount: name } = request;
    const received = await requestTokens(grantOf(request, settings.requiredScope), options);
    const pair = pairOf(received, 'refreshToken' in request ? { refreshToken: request.refreshToken } : {});
    if (!pair) {
      const lacking = received.answer.access_token === undefined ? 'access_token' : 'refresh_token';
      throw new PartnerFault('contract-broken', `the token endpoint returned no usable ${lacking}`);
    }
    warnOfType(received, name, observer);
    refuseSmallScope(pair, settings.requiredScope);

    const look = { partnerAccount: name, token: pair.accessToken, deadlineMs: options.deadlineMs };
    const known = (await accounts.read(name))?.value;
    const userUnverified = known && !request.sameUser ? await verifyUser(known, look) : undefined;
    const version = await vault.write(name, pair);
    const generation = known?.generation ?? Math.floor(clock.now() / 1000);
    const recently = toInstant(received.serviceTime - settings.overlapSeconds * 1000);
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
    const account = await tell({ name, generation, holder, version, pair });
    await payOwedEvents(deps, account);
    observer.info('partner account connected', { partnerAccount: name, generation });
    return {
      partnerAccount: name,
      generation: account.generation,
      scope: pair.scope,
      tokenExpiresAt: toInstant(pair.expiresAt),
      isNew: !known,
      ...(userUnverified === undefined ? {} : { userUnverified }),
      feed: await firstPage(known ? recently : since, look),
    };
  }

  /** @throws {PartnerFault} when somebody else had the account in hand since: what they found is newer than this */
  async function tell({ name, generation, holder, version, pair }: Telling): Promise<PartnerAccount> {
    const token = { version, expiresAt: pair.expiresAt, usedAt: pair.obtainedAt };
    const fresh: PartnerAccount = { name, generation, connectedAt: toInstant(clock.now()), token };
    if (await accounts.write(fresh, 0)) return fresh;
    const isOurs = (now: PartnerAccount) => now.refreshing?.holder === holder;
    const account = await changeAccount(accounts, name, (now) =>
      isOurs(now) ? { ...restored(now, version, clock.now()), token } : undefined,
    );
    if (!account)
      throw new Error(`partner account ${name} was forgotten while it was being connected: connect it again`);
    if (!isOurs(account)) {
      throw new PartnerFault(
        'passing',
        `connecting ${name} took so long that its token was refreshed, or it was changed, meanwhile: connect it again`,
      );
    }
    return account;
  }

  /** Stops polling and removes the credentials; the cursor and the history stay. @returns whether it was known */
  async function disconnect(name: string): Promise<boolean> {
    return alone(name, { deadlineMs: clock.now() + disconnectMs }, () => removeCredentials(name));
  }

  async function removeCredentials(name: string): Promise<boolean> {
    const account = await changeAccount(accounts, name, (now) => disconnected(now, clock.now()));
    await vault.remove(name);
    return account !== undefined;
  }

  /** Removes the cursor too. Its history in the advert-status table is of a generation that never comes back. */
  async function forget(name: string): Promise<void> {
    const account = await accounts.read(name);
    await disconnect(name);
    // A generation counts seconds: the next one under this name has to be greater.
    const nextSecond = ((account?.value.generation ?? 0) + 1) * 1000;
    if (clock.now() < nextSecond) await clock.sleep(nextSecond - clock.now());
    await feedStates.remove(name);
    await accounts.remove(name);
  }

  return { connect, disconnect, forget };
}

export type Connect = ReturnType<typeof createConnect>;

interface Telling {
  readonly name: string;
  readonly generation: number;
  /** Of the refresh lock; undefined where there was no account to lock. */
  readonly holder: string | undefined;
  readonly version: string;
  readonly pair: TokenPair;
}

function grantOf(request: ConnectRequest, scope: string): Grant {
  if ('refreshToken' in request) return { type: 'refresh_token', refreshToken: request.refreshToken };
  const { code, redirectUri } = request;
  return { type: 'authorization_code', code, scope, ...(redirectUri === undefined ? {} : { redirectUri }) };
}

function refuseSmallScope({ scope }: TokenPair, required: string): void {
  const missing = missingScopes(scope, required);
  if (missing.length === 0) return;
  throw new PartnerFault(
    'scope-refused',
    `the scope granted is too small: "${scope}" lacks ${missing.join(', ')}`,
  );
}

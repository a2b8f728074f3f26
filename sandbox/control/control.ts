import { isBasedOnCallback } from '../oauth/authorize.ts';
import { pick, type Random } from '../state/random.ts';
import { changeSettings, type Settings, type SettingsPatch } from '../state/settings.ts';
import { covers } from '../state/tokens.ts';
import {
  type Advert,
  addAdvert,
  type ConsentMode,
  changeStatus,
  issueCode,
  listChange,
  type PartnerAccount,
  presentAdverts,
  type World,
} from '../state/world.ts';

/** An advert's real state in the service, regardless of what the feed has shown. */
export type AdvertTruth = Readonly<Advert>;

export interface UserOptions {
  /** A refresh token that is valid from the start. Default: `sandbox-refresh-token-<name>`. */
  readonly refreshToken?: string;
  /** Default: the application's allowed scope. */
  readonly scope?: string;
  /** Number of adverts before the feed begins. Default 0. */
  readonly adverts?: number;
}

export type SandboxControl = ReturnType<typeof createControl>;

/**
 * Controls a running sandbox, beyond the service's own requests. `user` is the first user by default, or all users
 * where it says so. Every method throws a RangeError for an unknown user or advert.
 */
export function createControl(world: World) {
  const { clock, journal, faults, settings, accounts, tokens, random } = world;
  const account = (user = accounts.keys().next().value ?? '(none)'): PartnerAccount => {
    const found = accounts.get(user);
    if (found === undefined) throw new RangeError(`there is no user named ${user}`);
    return found;
  };
  const some = (user?: string) => (user === undefined ? [...accounts.values()] : [account(user)]);
  const anyStatus = () => pick(random, settings.assumptions.statuses);
  const find = (advertId: string, state: 'present' | 'removed'): Advert => {
    const advert = world.adverts.get(advertId);
    if (advert === undefined) throw new RangeError(`there is no advert ${advertId}`);
    if ((advert.status === null) === (state === 'removed')) return advert;
    throw new RangeError(`advert ${advertId} is not ${state}`);
  };
  const allowedScope = (scope = settings.allowedScope): string => {
    if (!covers(settings.allowedScope, scope)) throw new RangeError('the scope is not allowed');
    return scope;
  };

  return {
    clock,
    journal,
    faults,

    /** @returns the user's name and refresh token */
    addUser(name: string, options: UserOptions = {}) {
      const { refreshToken = `sandbox-refresh-token-${name}`, adverts = 0 } = options;
      if (name === '' || accounts.has(name)) throw new RangeError(`a user named ${name} cannot be added`);
      if (tokens.ownerOf(refreshToken) !== undefined) throw new RangeError('the token is in use');
      tokens.openGrant(name, allowedScope(options.scope), refreshToken);
      const added: PartnerAccount = { name, cursors: new Map(), changes: [] };
      accounts.set(name, added);
      for (let index = 0; index < adverts; index += 1)
        addAdvert(world, added, { status: anyStatus() }, false);
      return { name, refreshToken };
    },
    /** Every user, with the number of adverts that are not removed, and of feed entries. */
    users: () =>
      [...accounts.values()].map((each) => {
        return { name: each.name, adverts: presentAdverts(world, each).length, changes: each.changes.length };
      }),

    /** Creates adverts, with random statuses by default. @returns their IDs; each is a change in the feed */
    createAdverts(count: number, { user, status }: { user?: string; status?: string } = {}): string[] {
      const owner = account(user);
      const create = () => addAdvert(world, owner, { status: status ?? anyStatus() }).id;
      return Array.from({ length: count }, create);
    },
    /** Makes one change in the feed, even if the advert already has this status. It must not be removed. */
    setStatus: (advertId: string, status: string): void =>
      changeStatus(world, find(advertId, 'present'), status),
    /** Removes an advert, so that the service no longer knows it. Makes one change in the feed. */
    remove: (advertId: string): void => changeStatus(world, find(advertId, 'present'), null),
    /** Restores a removed advert, by default with its last status. Makes one change in the feed. */
    restore(advertId: string, status?: string): void {
      const advert = find(advertId, 'removed');
      changeStatus(
        world,
        advert,
        status ?? advert.history.findLast((entry) => entry.status !== null)?.status ?? 'active',
      );
    },
    /** Changes random adverts to random other statuses, `count` times. @returns the IDs in order, with repeats */
    changeRandomly(count: number, options: { user?: string; random?: Random } = {}): string[] {
      const present = presentAdverts(world, account(options.user));
      const source = options.random ?? random;
      return Array.from({ length: count }, () => {
        const advert = pick(source, present);
        const others = settings.assumptions.statuses.filter((status) => status !== advert.status);
        changeStatus(world, advert, pick(source, others));
        return advert.id;
      });
    },
    /** Puts any string into the feed as an ID, to test how a client handles it. */
    listRaw: (id: string, user?: string): unknown => listChange(world, account(user), id),
    advert: (advertId: string): AdvertTruth | undefined => structuredClone(world.adverts.get(advertId)),
    /** Every advert, including removed ones; of all users by default. */
    truth: (user?: string): AdvertTruth[] =>
      structuredClone(
        [...world.adverts.values()].filter((advert) => some(user).includes(account(advert.user))),
      ),
    /** Number of feed entries; of all users by default. */
    changeCount: (user?: string): number => some(user).flatMap(({ changes }) => changes).length,

    settings: (): Readonly<Settings> => ({ ...settings }),
    change: (patch: SettingsPatch): unknown => Object.assign(settings, changeSettings(settings, patch)),

    /** Invalidates every cursor issued so far; of all users by default. */
    invalidateCursors(user?: string): void {
      for (const owner of some(user)) owner.cursors.clear();
    },
    /** Lets access tokens expire now; those of all users and clients by default. @returns how many were valid */
    expireAccessTokens: (user?: string): number => tokens.expireAccessTokens(user),
    /** Revokes the user's grants: refresh tokens answer invalid_grant, access tokens 401. @returns how many */
    revoke: (user?: string): number => tokens.revoke(account(user).name),
    /** Every access and refresh token issued so far, valid or not. */
    issuedTokens: (): string[] => tokens.issued(),
    /** A refresh token as issued by a new authorization of the user. */
    issueRefreshToken: (user?: string, scope?: string): string =>
      tokens.openGrant(account(user).name, allowedScope(scope)).refreshToken,
    /** A one-time code as issued by the consent page. */
    issueCode({ user, scope, redirectUri }: { user?: string; scope?: string; redirectUri?: string } = {}) {
      if (redirectUri !== undefined && !isBasedOnCallback(world, redirectUri))
        throw new RangeError('the redirectUri is not based on a Callback URL');
      return issueCode(world, { user: account(user).name, scope: allowedScope(scope), redirectUri });
    },
    /** Replaces the application's secret: the old one is rejected from now on, but grants stay valid. */
    replaceClientSecret(clientSecret: string): void {
      if (clientSecret === '') throw new RangeError('the client secret is empty');
      settings.clientSecret = clientSecret;
    },
    /** Sets who answers on the consent page: a person, or the sandbox. */
    setConsent(mode: ConsentMode): void {
      if (!['ask', 'allow', 'deny'].includes(mode.mode)) throw new RangeError('mode is ask, allow or deny');
      if (mode.user !== undefined) account(mode.user);
      world.consentMode = mode;
    },
  };
}

import { isBasedOnCallback } from '../oauth/redirect-uri.ts';
import { type AssumptionOverrides, overrideAssumptions } from '../state/assumptions.ts';
import type { SandboxClock } from '../state/clock.ts';
import type { ConsentMode } from '../state/consent.ts';
import type { FaultBook } from '../state/faults.ts';
import type { Journal } from '../state/journal.ts';
import { type Advert, type HistoryEntry, PartnerAccount } from '../state/partner-account.ts';
import { pick, type Random } from '../state/random.ts';
import { covers } from '../state/scope.ts';
import { accountOf, addAdvert, type Settings, type World } from '../state/world.ts';

/** An advert's real state in the service, regardless of what the feed has shown. */
export interface AdvertTruth {
  readonly id: string;
  readonly user: string;
  /** Null: removed. */
  readonly status: string | null;
  /** Oldest first; the last entry is the current status. */
  readonly history: readonly HistoryEntry[];
}

export interface UserTruth {
  readonly name: string;
  /** Number of adverts that are not removed. */
  readonly adverts: number;
  /** Number of feed entries, including those not visible yet. */
  readonly changes: number;
}

export interface SettingsPatch extends Partial<Omit<Settings, 'assumptions'>> {
  readonly assumptions?: AssumptionOverrides;
}

/** Controls a running sandbox, beyond the service's own requests. `user` defaults to the first user. */
export interface SandboxControl {
  readonly clock: SandboxClock;
  readonly journal: Journal;
  readonly faults: FaultBook;

  /** Adds a user. @param options `refreshToken` is `sandbox-refresh-token-<name>` by default */
  addUser(name: string, options?: { refreshToken?: string; scope?: string; adverts?: number }): void;
  users(): UserTruth[];

  /** @param status default: a random one. @returns the new IDs; each creation is a change in the feed */
  createAdverts(count: number, options?: { user?: string; status?: string }): string[];
  /**
   * Makes one change in the feed, even if the advert already has this status.
   *
   * @throws {RangeError} unknown or removed advert
   */
  setStatus(advertId: string, status: string): void;
  /** Removes an advert, so that the service no longer knows it. Makes one change in the feed. */
  remove(advertId: string): void;
  /** Restores a removed advert, by default with its last status. Makes one change in the feed. */
  restore(advertId: string, status?: string): void;
  /** Changes random adverts to random other statuses, `count` times. @returns the IDs in order, including repeats */
  changeRandomly(count: number, options?: { user?: string; random?: Random }): string[];
  /** Puts any string into the feed as an ID, to test how a client handles it. */
  listRaw(id: string, user?: string): void;
  advert(advertId: string): AdvertTruth | undefined;
  /** Every advert, including removed ones. @param user default: all users */
  truth(user?: string): AdvertTruth[];
  /**
   * Sets the status of an order, creating the order if needed; null removes it. Makes one change in the (assumed)
   * orders feed.
   */
  setOrder(orderId: string, status: string | null, user?: string): AdvertTruth;
  /** Number of feed entries. @param user default: all users */
  changeCount(user?: string): number;

  settings(): Readonly<Settings>;
  change(patch: SettingsPatch): void;

  /** Invalidates every cursor issued so far. @param user default: all users */
  invalidateCursors(user?: string): void;
  /** @param user default: all users and client tokens. @returns how many tokens expired */
  expireAccessTokens(user?: string): number;
  /**
   * Revokes the user's grants: refresh tokens answer invalid_grant, access tokens 401.
   *
   * @returns the number of grants
   */
  revoke(user?: string): number;
  /** Every access and refresh token issued so far, valid or not. */
  issuedTokens(): string[];
  /** A refresh token as issued by a new authorization of the user. */
  issueRefreshToken(user?: string, scope?: string): string;
  /** A one-time code as issued by the consent page. */
  issueCode(options?: { user?: string; scope?: string; redirectUri?: string }): string;
  /** Replaces the application's secret: the old one is rejected from now on, but grants stay valid. */
  replaceClientSecret(clientSecret: string): void;
  /** Sets who answers on the consent page: a person, or the sandbox. */
  setConsent(mode: ConsentMode): void;
}

/** Creates the control interface of a world. Every method throws a RangeError for an unknown user or advert. */
export function createControl(world: World): SandboxControl {
  const { clock, random, settings, accounts } = world;
  const account = (user?: string): PartnerAccount =>
    accountOf(world, user ?? accounts.keys().next().value ?? '(none)');
  const some = (user?: string): PartnerAccount[] =>
    user === undefined ? [...accounts.values()] : [account(user)];
  const find = (advertId: string): [PartnerAccount, Advert] => {
    const owner = world.owners.get(advertId);
    const advert = owner?.adverts.get(advertId);
    if (owner === undefined || advert === undefined) throw new RangeError(`there is no advert ${advertId}`);
    return [owner, advert];
  };
  const statuses = (): readonly string[] => settings.assumptions.statuses;
  const checkedScope = (scope = world.application.allowedScope): string => {
    if (!covers(world.application.allowedScope, scope)) throw new RangeError('the scope is not allowed');
    return scope;
  };

  return {
    clock,
    journal: world.journal,
    faults: world.faults,

    addUser: (name, { refreshToken = `sandbox-refresh-token-${name}`, scope, adverts = 0 } = {}) => {
      if (name === '' || accounts.has(name)) throw new RangeError(`a user named ${name} cannot be added`);
      if (world.tokens.ownerOfRefreshToken(refreshToken) !== undefined)
        throw new RangeError('the token is in use');
      const grantScope = checkedScope(scope);
      const added = new PartnerAccount(name);
      accounts.set(name, added);
      world.tokens.openGrant(name, grantScope, refreshToken);
      const atMs = clock.now();
      for (let index = 0; index < adverts; index += 1) {
        addAdvert(world, added, { status: pick(random, statuses()), atMs }, false);
      }
    },
    users: () =>
      some().map(({ name, adverts, removedCount, changeCount }) => ({
        name,
        adverts: adverts.size - removedCount,
        changes: changeCount,
      })),

    createAdverts: (count, { user, status } = {}) => {
      const owner = account(user);
      return Array.from(
        { length: count },
        () => addAdvert(world, owner, { status: status ?? pick(random, statuses()) }).id,
      );
    },
    setStatus: (advertId, status) => {
      const [owner, advert] = find(advertId);
      if (advert.status === null) throw new RangeError(`advert ${advertId} is removed`);
      owner.change(advert, status, clock.now());
    },
    remove: (advertId) => {
      const [owner, advert] = find(advertId);
      if (advert.status === null) throw new RangeError(`advert ${advertId} is removed already`);
      owner.change(advert, null, clock.now());
    },
    restore: (advertId, status) => {
      const [owner, advert] = find(advertId);
      if (advert.status !== null) throw new RangeError(`advert ${advertId} is not removed`);
      const last = advert.history.findLast((entry) => entry.status !== null)?.status ?? 'active';
      owner.change(advert, status ?? last, clock.now());
    },
    changeRandomly: (count, { user, random: source = random } = {}) => {
      const owner = account(user);
      if (count > 0 && owner.adverts.size === owner.removedCount)
        throw new RangeError('there is no advert to change');
      const changed: string[] = [];
      while (changed.length < count) {
        const advert = pick(source, owner.inOrder);
        if (advert.status === null) continue;
        const others = statuses().filter((status) => status !== advert.status);
        owner.change(advert, pick(source, others), clock.now());
        changed.push(advert.id);
      }
      return changed;
    },
    setOrder: (orderId, status, user) => {
      const { orders } = account(user);
      const order = orders.adverts.get(orderId);
      if (order) orders.change(order, status, clock.now());
      else if (status === null) throw new RangeError(`there is no order ${orderId}`);
      const fields = { status: status ?? '', title: `Order ${orderId}`, price: 10 };
      return truthOf(orders, order ?? orders.add(orderId, fields, clock.now()));
    },
    listRaw: (id, user) => {
      account(user).list(id, clock.now());
    },
    advert: (advertId) => {
      const owner = world.owners.get(advertId);
      const advert = owner?.adverts.get(advertId);
      return owner === undefined || advert === undefined ? undefined : truthOf(owner, advert);
    },
    truth: (user) => some(user).flatMap((owner) => owner.inOrder.map((advert) => truthOf(owner, advert))),
    changeCount: (user) => some(user).reduce((sum, { changeCount }) => sum + changeCount, 0),

    settings: () => ({ ...settings }),
    change: ({ assumptions, ...patch }) => {
      const merged = overrideAssumptions(settings.assumptions, assumptions ?? {});
      for (const [name, value] of Object.entries(patch)) {
        const mayBeNull = name === 'retentionSeconds' && value === null;
        if (!(name in settings)) throw new RangeError(`there is no setting named ${name}`);
        if (!mayBeNull && !(typeof value === 'number' && value >= 0))
          throw new RangeError(`${name} is not a number`);
      }
      Object.assign(settings, patch, { assumptions: merged });
    },

    invalidateCursors: (user) => {
      for (const owner of some(user).flatMap((one) => [one, one.orders])) owner.cursorEpoch += 1;
    },
    expireAccessTokens: (user) => world.tokens.expireAccessTokens(user),
    revoke: (user) => world.tokens.revoke(account(user).name),
    issuedTokens: () => world.tokens.issued(),
    issueRefreshToken: (user, scope) =>
      world.tokens.openGrant(account(user).name, checkedScope(scope)).refresh.value,
    issueCode: ({ user, scope, redirectUri } = {}) => {
      const { loopbackPortMayDiffer } = settings.assumptions;
      if (
        redirectUri !== undefined &&
        !isBasedOnCallback(world.application, redirectUri, loopbackPortMayDiffer)
      ) {
        throw new RangeError('the redirectUri is not based on a Callback URL');
      }
      return world.consent.issueCode(account(user).name, checkedScope(scope), redirectUri);
    },
    replaceClientSecret: (clientSecret) => {
      if (clientSecret === '') throw new RangeError('the client secret is empty');
      world.application.clientSecret = clientSecret;
    },
    setConsent: (mode) => {
      if (mode.mode === 'allow' && mode.user !== undefined) account(mode.user);
      world.consent.mode = mode;
    },
  };
}

function truthOf(owner: PartnerAccount, advert: Advert): AdvertTruth {
  return { id: advert.id, user: owner.name, status: advert.status, history: [...advert.history] };
}

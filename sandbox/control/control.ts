import { isBasedOnCallback } from '../oauth/redirect-uri.ts';
import type { SandboxClock } from '../state/clock.ts';
import type { FaultBook } from '../state/faults.ts';
import type { Journal } from '../state/journal.ts';
import { type Advert, type HistoryEntry, PartnerAccount } from '../state/partner-account.ts';
import { pick, type Random } from '../state/random.ts';
import { covers } from '../state/scope.ts';
import { changeSettings, type Settings, type SettingsPatch } from '../state/settings.ts';
import { accountOf, addAdvert, type ConsentMode, issueCode, type World } from '../state/world.ts';

/** An advert's real state in the service, regardless of what the feed has shown. */
export interface AdvertTruth {
  readonly id: string;
  readonly user: string;
  /** Null: removed. */
  readonly status: string | null;
  /** Oldest first; the last entry is the current status. */
  readonly history: readonly HistoryEntry[];
}

/**
 * Controls a running sandbox, beyond the service's own requests. `user` defaults to the first user. Every method throws
 * a RangeError for an unknown user or advert.
 */
export class SandboxControl {
  readonly clock: SandboxClock;
  readonly journal: Journal;
  readonly faults: FaultBook;
  readonly #world: World;

  constructor(world: World) {
    this.clock = world.clock;
    this.journal = world.journal;
    this.faults = world.faults;
    this.#world = world;
  }

  /** Adds a user. @param options `refreshToken` is `sandbox-refresh-token-<name>` by default */
  addUser(name: string, options: { refreshToken?: string; scope?: string; adverts?: number } = {}): void {
    const { refreshToken = `sandbox-refresh-token-${name}`, scope, adverts = 0 } = options;
    const { accounts, tokens } = this.#world;
    if (name === '' || accounts.has(name)) throw new RangeError(`a user named ${name} cannot be added`);
    if (tokens.ownerOfRefreshToken(refreshToken) !== undefined) throw new RangeError('the token is in use');
    const grantScope = this.#allowed(scope);
    const account = new PartnerAccount(name);
    accounts.set(name, account);
    tokens.openGrant(name, grantScope, refreshToken);
    for (let index = 0; index < adverts; index += 1)
      addAdvert(this.#world, account, { status: this.#anyStatus() }, false);
  }

  /** Every user, with the number of adverts that are not removed, and of feed entries. */
  users(): { name: string; adverts: number; changes: number }[] {
    return this.#some().map(({ name, inOrder, changeCount }) => {
      return { name, adverts: inOrder.filter(({ status }) => status !== null).length, changes: changeCount };
    });
  }

  /** @param status default: a random one. @returns the new IDs; each creation is a change in the feed */
  createAdverts(count: number, { user, status }: { user?: string; status?: string } = {}): string[] {
    const owner = this.#account(user);
    const create = () => addAdvert(this.#world, owner, { status: status ?? this.#anyStatus() }).id;
    return Array.from({ length: count }, create);
  }

  /** Makes one change in the feed, even if the advert already has this status. It must not be removed. */
  setStatus(advertId: string, status: string): void {
    const [owner, advert] = this.#find(advertId, 'present');
    owner.change(advert, status, this.clock.now());
  }

  /** Removes an advert, so that the service no longer knows it. Makes one change in the feed. */
  remove(advertId: string): void {
    const [owner, advert] = this.#find(advertId, 'present');
    owner.change(advert, null, this.clock.now());
  }

  /** Restores a removed advert, by default with its last status. Makes one change in the feed. */
  restore(advertId: string, status?: string): void {
    const [owner, advert] = this.#find(advertId, 'removed');
    const last = advert.history.findLast((entry) => entry.status !== null)?.status ?? 'active';
    owner.change(advert, status ?? last, this.clock.now());
  }

  /** Changes random adverts to random other statuses, `count` times. @returns the IDs in order, including repeats */
  changeRandomly(count: number, options: { user?: string; random?: Random } = {}): string[] {
    const { user, random = this.#world.random } = options;
    const owner = this.#account(user);
    if (count > 0 && owner.inOrder.every(({ status }) => status === null))
      throw new RangeError('there is no advert to change');
    const changed: string[] = [];
    while (changed.length < count) {
      const advert = pick(random, owner.inOrder);
      if (advert.status === null) continue;
      const { statuses } = this.#world.settings.assumptions;
      const others = statuses.filter((status) => status !== advert.status);
      owner.change(advert, pick(random, others), this.clock.now());
      changed.push(advert.id);
    }
    return changed;
  }

  /** Puts any string into the feed as an ID, to test how a client handles it. */
  listRaw(id: string, user?: string): void {
    this.#account(user).list(id, this.clock.now());
  }

  advert(advertId: string): AdvertTruth | undefined {
    return this.#world.owners.has(advertId) ? truthOf(...this.#find(advertId)) : undefined;
  }

  /** Every advert, including removed ones. @param user default: all users */
  truth(user?: string): AdvertTruth[] {
    return this.#some(user).flatMap((owner) => owner.inOrder.map((advert) => truthOf(owner, advert)));
  }

  /** Number of feed entries. @param user default: all users */
  changeCount(user?: string): number {
    return this.#some(user).reduce((sum, { changeCount }) => sum + changeCount, 0);
  }

  settings(): Readonly<Settings> {
    return { ...this.#world.settings };
  }

  change(patch: SettingsPatch): void {
    Object.assign(this.#world.settings, changeSettings(this.#world.settings, patch));
  }

  /** Invalidates every cursor issued so far. @param user default: all users */
  invalidateCursors(user?: string): void {
    for (const owner of this.#some(user)) owner.cursors.clear();
  }

  /** @param user default: all users and client tokens. @returns how many tokens expired */
  expireAccessTokens(user?: string): number {
    return this.#world.tokens.expireAccessTokens(user);
  }

  /** Revokes the user's grants: refresh tokens answer invalid_grant, access tokens 401. @returns how many grants */
  revoke(user?: string): number {
    return this.#world.tokens.revoke(this.#account(user).name);
  }

  /** Every access and refresh token issued so far, valid or not. */
  issuedTokens(): string[] {
    return this.#world.tokens.issued();
  }

  /** A refresh token as issued by a new authorization of the user. */
  issueRefreshToken(user?: string, scope?: string): string {
    return this.#world.tokens.openGrant(this.#account(user).name, this.#allowed(scope)).refreshToken;
  }

  /** A one-time code as issued by the consent page. */
  issueCode(options: { user?: string; scope?: string; redirectUri?: string } = {}): string {
    const { user, scope, redirectUri } = options;
    const { application, settings } = this.#world;
    const { loopbackPortMayDiffer } = settings.assumptions;
    if (
      redirectUri !== undefined &&
      !isBasedOnCallback(application.callbackUrls, redirectUri, loopbackPortMayDiffer)
    ) {
      throw new RangeError('the redirectUri is not based on a Callback URL');
    }
    const issued = { user: this.#account(user).name, scope: this.#allowed(scope), redirectUri };
    return issueCode(this.#world, issued);
  }

  /** Replaces the application's secret: the old one is rejected from now on, but grants stay valid. */
  replaceClientSecret(clientSecret: string): void {
    if (clientSecret === '') throw new RangeError('the client secret is empty');
    this.#world.application.clientSecret = clientSecret;
  }

  /** Sets who answers on the consent page: a person, or the sandbox. */
  setConsent(mode: ConsentMode): void {
    if (!['ask', 'allow', 'deny'].includes(mode.mode)) throw new RangeError('mode is ask, allow or deny');
    if (mode.user !== undefined) this.#account(mode.user);
    this.#world.consentMode = mode;
  }

  #account(user = this.#world.accounts.keys().next().value ?? '(none)'): PartnerAccount {
    return accountOf(this.#world, user);
  }

  #some(user?: string): PartnerAccount[] {
    return user === undefined ? [...this.#world.accounts.values()] : [this.#account(user)];
  }

  #find(advertId: string, state?: 'present' | 'removed'): [PartnerAccount, Advert] {
    const owner = this.#world.owners.get(advertId);
    const advert = owner?.adverts.get(advertId);
    if (owner === undefined || advert === undefined) throw new RangeError(`there is no advert ${advertId}`);
    if (state && (advert.status === null) !== (state === 'removed'))
      throw new RangeError(`advert ${advertId} is not ${state}`);
    return [owner, advert];
  }

  #anyStatus(): string {
    return pick(this.#world.random, this.#world.settings.assumptions.statuses);
  }

  #allowed(scope = this.#world.application.allowedScope): string {
    if (!covers(this.#world.application.allowedScope, scope))
      throw new RangeError('the scope is not allowed');
    return scope;
  }
}

function truthOf(owner: PartnerAccount, advert: Advert): AdvertTruth {
  return { id: advert.id, user: owner.name, status: advert.status, history: [...advert.history] };
}

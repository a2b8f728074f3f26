import { type Clock, SandboxClock } from './clock.ts';
import { FaultBook } from './faults.ts';
import { Journal } from './journal.ts';
import type { Advert, PartnerAccount } from './partner-account.ts';
import { type Random, randomToken, systemRandom } from './random.ts';
import { RateLimiter } from './rate-limiter.ts';
import { changeSettings, type SettingsPatch, settingNames } from './settings.ts';
import { TokenStore } from './tokens.ts';

/** The application that the partner registered with the service. @see partner-api.md §5.1 */
export interface Application {
  clientId: string;
  /** Changes when the partner has it replaced. */
  clientSecret: string;
  /** Shown on the consent page. */
  applicationName: string;
  /** See the assumption `loopbackPortMayDiffer`. */
  callbackUrls: readonly string[];
  /** All scopes that this partner may request, separated by spaces. */
  allowedScope: string;
}

const defaultApplication: Application = {
  clientId: 'sandbox-client',
  clientSecret: 'sandbox-client-secret',
  applicationName: 'Advert Bridge',
  callbackUrls: ['http://127.0.0.1:8765/callback'],
  allowedScope: 'v2 read write',
};

/** An authorization request that passed every check. */
export interface PendingConsent {
  readonly scope: string;
  readonly redirectUri: string;
  /** Whether redirect_uri was sent, which makes it mandatory in the token request. */
  readonly redirectUriWasSent: boolean;
  readonly state: string | undefined;
}

interface IssuedCode {
  readonly user: string;
  readonly scope: string;
  /** The redirect_uri that the token request must repeat; undefined: none. */
  readonly redirectUri: string | undefined;
  readonly issuedAtMs: number;
}

/** Whether a person is asked, or the sandbox answers immediately for a user (for runs without a browser). */
export interface ConsentMode {
  readonly mode: 'ask' | 'allow' | 'deny';
  /** Default: the first user. */
  readonly user?: string;
}

export interface WorldOptions extends SettingsPatch, Partial<Application> {
  /** Source of time. Default: the system clock. */
  readonly clock?: Clock;
  /** Default: unpredictable. With `seededRandom(n)`, all tokens, statuses and random changes are reproducible. */
  readonly random?: Random;
  /** First advert ID; the IDs of all users count up from here. Default 1001; may exceed 2^53. */
  readonly firstAdvertId?: number | bigint | string;
  /** Maximum number of journal entries. Default 100,000. */
  readonly journalLimit?: number;
}

/** All state of one sandbox. */
export type World = ReturnType<typeof createWorld>;

/** @throws {RangeError} for an impossible setting */
export function createWorld(options: WorldOptions) {
  const { clock: base = { now: () => Date.now() }, random = systemRandom } = options;
  const { firstAdvertId = 1001, journalLimit = 100_000 } = options;
  const clock = new SandboxClock(base);
  const settings = changeSettings({}, pickKnown(settingNames, options));
  const application = { ...defaultApplication, ...pickKnown(Object.keys(defaultApplication), options) };
  return {
    application,
    settings,
    clock,
    random,
    accounts: new Map<string, PartnerAccount>(),
    /** The owner of every advert, by advert ID. */
    owners: new Map<string, PartnerAccount>(),
    nextAdvertId: BigInt(firstAdvertId),
    tokens: new TokenStore(clock, random, settings),
    cursorKey: randomToken(random),
    cursorSerial: 0,
    journal: new Journal(journalLimit),
    faults: new FaultBook(random),
    consentMode: { mode: 'ask' } as ConsentMode,
    /** Authorization requests that wait for the user's decision, by the ID that the consent page sends back. */
    pendingConsents: new Map<string, PendingConsent>(),
    /** One-time codes that were not exchanged yet. */
    codes: new Map<string, IssuedCode>(),
    rateLimiter: new RateLimiter(),
  };
}

/** The fields with these names that have a value. */
const pickKnown = <T extends object>(names: readonly string[], fields: T): Partial<T> =>
  Object.fromEntries(
    Object.entries(fields).filter(([name, value]) => names.includes(name) && value !== undefined),
  ) as Partial<T>;

/** @returns a one-time code */
export function issueCode(world: World, issued: Omit<IssuedCode, 'issuedAtMs'>): string {
  const code = randomToken(world.random);
  world.codes.set(code, { ...issued, issuedAtMs: world.clock.now() });
  return code;
}

/** Gets and deletes a value. */
export function take<V>(values: Map<string, V>, key: string): V | undefined {
  const value = values.get(key);
  values.delete(key);
  return value;
}

/** @throws {RangeError} when there is no such user */
export function accountOf(world: World, user: string): PartnerAccount {
  const account = world.accounts.get(user);
  if (account === undefined) throw new RangeError(`there is no user named ${user}`);
  return account;
}

/** @param listed false: the advert existed before the feed began */
export function addAdvert(
  world: World,
  account: PartnerAccount,
  fields: { status: string; title?: string | undefined; price?: number | undefined },
  listed = true,
): Advert {
  const id = String(world.nextAdvertId);
  world.nextAdvertId += 1n;
  world.owners.set(id, account);
  const { status, title = `Advert ${id}`, price = 10 + Number(BigInt(id) % 990n) } = fields;
  const advert = { id, status, title, price, history: [] };
  account.add(advert, world.clock.now(), listed);
  return advert;
}

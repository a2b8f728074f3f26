import { type Clock, createSandboxClock } from './clock.ts';
import { createFaultBook } from './faults.ts';
import { createJournal } from './journal.ts';
import type { Advert, PartnerAccount } from './partner-account.ts';
import { type Random, randomToken, systemRandom } from './random.ts';
import { createRateLimiter } from './rate-limiter.ts';
import { changeSettings, type SettingsPatch } from './settings.ts';
import { createTokenStore } from './tokens.ts';

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

export interface WorldOptions extends SettingsPatch {
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
  const { clock: base = { now: () => Date.now() }, random = systemRandom, ...others } = options;
  const { firstAdvertId = 1001, journalLimit = 100_000, ...patch } = others;
  const clock = createSandboxClock(base);
  const settings = changeSettings({}, patch);
  return {
    settings,
    clock,
    random,
    accounts: new Map<string, PartnerAccount>(),
    /** The owner of every advert, by advert ID. */
    owners: new Map<string, PartnerAccount>(),
    nextAdvertId: BigInt(firstAdvertId),
    tokens: createTokenStore(clock, random, settings),
    cursorKey: randomToken(random),
    cursorSerial: 0,
    journal: createJournal(journalLimit),
    faults: createFaultBook(random),
    consentMode: { mode: 'ask' } as ConsentMode,
    /** Authorization requests that wait for the user's decision, by the ID that the consent page sends back. */
    pendingConsents: new Map<string, PendingConsent>(),
    /** One-time codes that were not exchanged yet. */
    codes: new Map<string, IssuedCode>(),
    limitRate: createRateLimiter(),
  };
}

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

import type { AssumptionOverrides } from './assumptions.ts';
import { type Assumptions, overrideAssumptions } from './assumptions.ts';
import type { SandboxClock } from './clock.ts';
import type { ConsentDesk } from './consent.ts';
import { createConsentDesk } from './consent.ts';
import { type CursorCodec, createCursorCodec } from './cursor.ts';
import { createFaultBook, type FaultBook } from './faults.ts';
import { createJournal, type Journal } from './journal.ts';
import type { Advert, PartnerAccount } from './partner-account.ts';
import { type Random, randomToken } from './random.ts';
import { createRateLimiter, type RateLimiter } from './rate-limiter.ts';
import { TokenStore } from './tokens.ts';

/** The application that the partner registered with the service. @see partner-api.md §5.1 */
export interface Application {
  readonly clientId: string;
  /** Changes when the partner has it replaced. */
  clientSecret: string;
  readonly name: string;
  readonly callbackUrls: readonly string[];
  /** All scopes that this partner may request, separated by spaces. */
  readonly allowedScope: string;
}

/** Settings that can be changed while the sandbox runs. */
export interface Settings {
  visibilityDelayMs: number;
  latencyMs: number;
  accessTokenLifetimeSeconds: number;
  /** How far back the feed reaches; null: to the beginning. */
  retentionSeconds: number | null;
  assumptions: Assumptions;
}

/** All state of one sandbox. */
export interface World {
  readonly application: Application;
  readonly settings: Settings;
  readonly clock: SandboxClock;
  readonly random: Random;
  readonly accounts: Map<string, PartnerAccount>;
  /** The owner of every advert, by advert ID. */
  readonly owners: Map<string, PartnerAccount>;
  nextAdvertId: bigint;
  readonly tokens: TokenStore;
  readonly cursors: CursorCodec;
  cursorSerial: number;
  readonly journal: Journal;
  readonly faults: FaultBook;
  readonly consent: ConsentDesk;
  readonly rateLimiter: RateLimiter;
}

export interface WorldOptions {
  readonly application: Application;
  readonly settings: Omit<Settings, 'assumptions'>;
  readonly assumptions: AssumptionOverrides;
  readonly clock: SandboxClock;
  readonly random: Random;
  readonly firstAdvertId: bigint;
  readonly journalLimit: number;
}

export function createWorld(options: WorldOptions, base: Assumptions): World {
  const { application, clock, random } = options;
  const settings = { ...options.settings, assumptions: overrideAssumptions(base, options.assumptions) };
  return {
    application,
    settings,
    clock,
    random,
    accounts: new Map(),
    owners: new Map(),
    nextAdvertId: options.firstAdvertId,
    tokens: new TokenStore({
      clock,
      random,
      assumptions: () => settings.assumptions,
      accessTokenLifetimeSeconds: () => settings.accessTokenLifetimeSeconds,
    }),
    cursors: createCursorCodec(randomToken(random)),
    cursorSerial: 0,
    journal: createJournal(options.journalLimit),
    faults: createFaultBook(random),
    consent: createConsentDesk(clock, random),
    rateLimiter: createRateLimiter(),
  };
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
  fields: { status: string; title?: string; price?: number; atMs?: number },
  listed = true,
): Advert {
  const id = String(world.nextAdvertId);
  world.nextAdvertId += 1n;
  world.owners.set(id, account);
  const { status, title = `Advert ${id}`, price = 10 + Number(BigInt(id) % 990n) } = fields;
  return account.add(id, { status, title, price }, fields.atMs ?? world.clock.now(), listed);
}

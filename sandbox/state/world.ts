import { type Clock, createSandboxClock } from './clock.ts';
import { createFaultBook } from './faults.ts';
import { createJournal } from './journal.ts';
import { type Random, randomToken } from './random.ts';
import { changeSettings, type RateLimit, type SettingsPatch } from './settings.ts';
import { createTokenStore } from './tokens.ts';

/** An advert's status from this time on; null: the service no longer knows the advert. */
interface HistoryEntry {
  readonly status: string | null;
  readonly atMs: number;
}

export interface Advert {
  readonly id: string;
  readonly user: string;
  /** Null: removed. */
  status: string | null;
  readonly title: string;
  readonly price: number;
  /** Oldest first; the last entry is the current status. */
  readonly history: HistoryEntry[];
}

/** One user of the service, with the changes that the feed shows page by page. */
export interface PartnerAccount {
  readonly name: string;
  /** The position of every valid cursor, by `since` and cursor. */
  readonly cursors: Map<string, number>;
  /** Sorted by time. */
  readonly changes: { readonly id: string; readonly atMs: number }[];
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

export type World = ReturnType<typeof createWorld>;

/** @throws {RangeError} for an impossible setting */
export function createWorld(options: WorldOptions) {
  const { clock: base = Date, random = Math.random, ...others } = options;
  const { firstAdvertId = 1001, journalLimit = 100_000, ...patch } = others;
  const clock = createSandboxClock(base);
  const settings = changeSettings({}, patch);
  return {
    settings,
    clock,
    random,
    accounts: new Map<string, PartnerAccount>(),
    /** The adverts of all users by ID, in the order of creation, including removed ones. */
    adverts: new Map<string, Advert>(),
    nextAdvertId: BigInt(firstAdvertId),
    tokens: createTokenStore(clock, random, settings),
    cursorKey: randomToken(random),
    journal: createJournal(journalLimit),
    faults: createFaultBook(random),
    consentMode: { mode: 'ask' } as ConsentMode,
    /** One-time codes that were not exchanged yet. */
    codes: new Map<string, IssuedCode>(),
    rateLimiter: createRequestCounter(),
  };
}

/** Uses the system clock, because a client really waits, whatever the service's clock shows. */
function createRequestCounter() {
  let passed: number[] = [];
  let blockedUntilMs = Number.NEGATIVE_INFINITY;
  return {
    /** @returns how long requests are refused from now on; undefined: this one is allowed. @see partner-api.md §8 */
    waitMs({ requests, perMs, blockMs }: RateLimit): number | undefined {
      const nowMs = performance.now();
      if (nowMs < blockedUntilMs) return blockedUntilMs - nowMs;
      passed = passed.filter((atMs) => atMs > nowMs - perMs);
      if (passed.length < requests) {
        passed.push(nowMs);
        return undefined;
      }
      blockedUntilMs = nowMs + blockMs;
      passed = [];
      return blockMs;
    },
  };
}

export function issueCode(world: World, issued: Omit<IssuedCode, 'issuedAtMs'>): string {
  const code = randomToken(world.random);
  world.codes.set(code, { ...issued, issuedAtMs: world.clock.now() });
  return code;
}

/** @param listed false: the advert existed before the feed began (assumed of those that a user starts with) */
export function addAdvert(
  world: World,
  account: PartnerAccount,
  fields: { status: string; title?: string | undefined; price?: number | undefined },
  listed = true,
): Advert {
  const id = String(world.nextAdvertId);
  world.nextAdvertId += 1n;
  const { status, title = `Advert ${id}`, price = 10 + Number(BigInt(id) % 990n) } = fields;
  const advert: Advert = { id, user: account.name, status, title, price, history: [] };
  world.adverts.set(id, advert);
  if (listed) changeStatus(world, advert, status);
  else advert.history.push({ status, atMs: world.clock.now() });
  return advert;
}

/** Sets a status, even the current one: every call is one change and one feed entry. */
export function changeStatus(world: World, advert: Advert, status: string | null): void {
  const account = world.accounts.get(advert.user);
  advert.status = status;
  if (account) advert.history.push({ status, atMs: listChange(world, account, advert.id) });
}

/** Appends an entry to the feed. @returns its time, never before that of the last entry */
export function listChange({ clock }: World, { changes }: PartnerAccount, id: string): number {
  const atMs = Math.max(clock.now(), changes.at(-1)?.atMs ?? 0);
  changes.push({ id, atMs });
  return atMs;
}

/** Position of the first change recorded after this time. */
export const positionAfter = ({ changes }: PartnerAccount, timeMs: number): number =>
  changes.findLastIndex(({ atMs }) => atMs <= timeMs) + 1;

/** The adverts of a user that are not removed, in the order of creation. */
export function presentAdverts({ adverts }: World, { name }: PartnerAccount): Advert[] {
  return [...adverts.values()].filter(({ user, status }) => user === name && status !== null);
}

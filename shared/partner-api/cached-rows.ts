import type { OnUnreadable } from '../contract/checks.ts';
import { type Clock, isYoung } from '../domain/clock.ts';
import { asBridgeFault, BridgeFault } from '../domain/faults.ts';
import { type PartnerAccount, stopOf } from '../domain/partner-account.ts';
import { type BudgetState, type BudgetStore, freshBudget } from '../state/budget.ts';
import type { PartnerAccounts } from '../state/partner-accounts.ts';

/** Returns a function by which concurrent callers with the same key share one run of the work. */
export function sharedRuns<T>() {
  const running = new Map<string, Promise<T>>();
  return (key: string, work: () => Promise<T>): Promise<T> => {
    const run = running.get(key) ?? work().finally(() => running.delete(key));
    running.set(key, run);
    return run;
  };
}

/** Maximum age of the row when a request is sent to the partner service. The age counts from the start of the read. */
export const rowMaxAgeMs = 5_000;

interface CachedAccount {
  readonly account: PartnerAccount | undefined;
  /** When the read began. */
  readonly readAt: number;
}

export type CachedAccounts = ReturnType<typeof createCachedAccounts>;

/** The rows of partner accounts, each cached for five seconds; one per process. */
export function createCachedAccounts(
  partnerAccounts: Pick<PartnerAccounts, 'list' | 'read' | 'change'>,
  clock: Clock,
) {
  const rows = new Map<string, CachedAccount>();
  const shared = sharedRuns<PartnerAccount | undefined>();
  let connected: number | undefined;

  function keep(name: string, row: CachedAccount): void {
    const known = rows.get(name);
    if (!known || known.readAt <= row.readAt || known.readAt > clock.now()) rows.set(name, row);
  }

  async function noted(name: string, access: () => Promise<PartnerAccount | undefined>) {
    const readAt = clock.now();
    const account = await access();
    keep(name, { account, readAt });
    return account;
  }

  const read = (name: string) => noted(name, () => partnerAccounts.read(name));

  /** The cached row, without reading; undefined if it is too old. */
  function peek(name: string): CachedAccount | undefined {
    const cached = rows.get(name);
    return cached && isYoung(cached.readAt, clock.now(), rowMaxAgeMs) ? cached : undefined;
  }

  /** Concurrent callers share one read. @throws {BridgeFault} `transient` if it takes longer than a row may be old */
  const get = (name: string): Promise<PartnerAccount | undefined> =>
    shared(name, async () => {
      await read(name);
      const cached = peek(name);
      if (cached) return cached.account;
      throw new BridgeFault('transient', `the row of partner account ${name} cannot be read in time`);
    });

  return {
    /** Number of accounts that are not stopped; undefined until this process has listed them. */
    get connected(): number | undefined {
      return connected;
    },

    read,
    peek,
    /** The cached row of any age, without reading. */
    known: (name: string): PartnerAccount | undefined => rows.get(name)?.account,

    change: (...changed: Parameters<PartnerAccounts['change']>) =>
      noted(changed[0], () => partnerAccounts.change(...changed)),

    async list(onUnreadable?: OnUnreadable): Promise<PartnerAccount[]> {
      const readAt = clock.now();
      const listed = await partnerAccounts.list(onUnreadable);
      for (const account of listed) keep(account.name, { account, readAt });
      connected = listed.filter((account) => !stopOf(account)).length;
      return listed;
    },

    get,
    /** The cached row, or `get` if it is too old. */
    recent: async (name: string) => (peek(name) ?? { account: await get(name) }).account,
  };
}

/** Maximum time until this process learns of a hold that another one has made. */
const maxAgeMs = 1_000;

export type CachedBudget = ReturnType<typeof createCachedBudget>;

/** The row of the whole bridge, its rate budget and its holds, as this process knows it; one per process. */
export function createCachedBudget(store: BudgetStore, clock: Clock) {
  let known: BudgetState = freshBudget;
  let knownAtMs = Number.NEGATIVE_INFINITY;
  /** Number of times that this process has changed a hold: a read that began before does not contain it. */
  let changes = 0;

  /** Takes over the stored state, including an early end of a hold. @param before `changes` when the read began */
  function takeOver(stored: BudgetState, before: number): void {
    const { holds: _stored, ...rest } = stored;
    const { holds } = known;
    // Planted fault: pause-unseen-by-warm-process
    known = before === changes ? stored : { ...rest, ...(holds && { holds }) };
    knownAtMs = clock.now();
  }

  return {
    /** The state of any age; before the first read, the one of a bridge for which nothing is stored yet. */
    get state(): BudgetState {
      return known;
    },

    async refresh(): Promise<void> {
      if (isYoung(knownAtMs, clock.now(), maxAgeMs)) return;
      const before = changes;
      takeOver(await reached(store.read()), before);
    },

    /** Applies a change here at once, and stores it for the other processes. */
    async change(rule: (state: BudgetState) => BudgetState): Promise<BudgetState> {
      changes += 1;
      known = rule(known);
      // Planted fault: pause-not-shared
      const stored = await reached(store.change(rule));
      changes += 1;
      known = stored;
      return known;
    },

    async reserve(rule: (state: BudgetState) => BudgetState): Promise<BudgetState> {
      const before = changes;
      takeOver(await reached(store.change(rule)), before);
      return known;
    },
  };
}

async function reached<T>(access: Promise<T>): Promise<T> {
  try {
    return await access;
  } catch (error) {
    const { code, message } = asBridgeFault(error);
    throw new BridgeFault(code, `the rate budget cannot be reached: ${message}`, { cause: error });
  }
}

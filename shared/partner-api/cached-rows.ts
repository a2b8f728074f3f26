import type { OnUnreadable } from '../contract/checks.ts';
import { type Clock, isYoung, systemClock } from '../domain/clock.ts';
import { asBridgeFault, BridgeFault } from '../domain/faults.ts';
import { type PartnerAccount, stopOf } from '../domain/partner-account.ts';
import { type BudgetState, type BudgetStore, freshBudget, type Reservation } from '../state/budget.ts';
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

type Accounts = Pick<PartnerAccounts, 'list' | 'read' | 'change'>;

/** The rows of partner accounts, each cached for five seconds; one per process. */
export class CachedAccounts implements Accounts {
  readonly #accounts: Accounts;
  readonly #clock: Clock;
  readonly #cached = new Map<string, CachedAccount>();
  readonly #shared = sharedRuns<PartnerAccount | undefined>();
  /** Number of accounts that are not stopped; undefined until this process has listed them. */
  connected: number | undefined;

  constructor(accounts: Accounts, clock: Clock = systemClock) {
    this.#accounts = accounts;
    this.#clock = clock;
  }

  async read(name: string) {
    const readAt = this.#clock.now();
    const found = await this.#accounts.read(name);
    this.#keep(name, { account: found, readAt });
    return found;
  }

  async list(onUnreadable?: OnUnreadable): Promise<PartnerAccount[]> {
    const readAt = this.#clock.now();
    const listed = await this.#accounts.list(onUnreadable);
    for (const account of listed) this.#keep(account.name, { account, readAt });
    this.connected = listed.filter((account) => !stopOf(account)).length;
    return listed;
  }

  async change(...[name, change]: Parameters<PartnerAccounts['change']>) {
    const readAt = this.#clock.now();
    const account = await this.#accounts.change(name, change);
    this.#keep(name, { account, readAt });
    return account;
  }

  /** The cached row, without reading; undefined if it is too old. */
  peek(name: string): CachedAccount | undefined {
    const cached = this.#cached.get(name);
    return cached && isYoung(cached.readAt, this.#clock.now(), rowMaxAgeMs) ? cached : undefined;
  }

  /** Concurrent callers share one read. @throws {BridgeFault} `transient` if it takes longer than a row may be old */
  get(name: string): Promise<PartnerAccount | undefined> {
    return this.#shared(name, async () => {
      await this.read(name);
      const cached = this.peek(name);
      if (cached) return cached.account;
      throw new BridgeFault('transient', `the row of partner account ${name} cannot be read in time`);
    });
  }

  #keep(name: string, cached: CachedAccount): void {
    const known = this.#cached.get(name);
    const isNewer = !known || known.readAt <= cached.readAt || known.readAt > this.#clock.now();
    if (isNewer) this.#cached.set(name, cached);
  }
}

/** Maximum time until this process learns of a hold that another one has made. */
const maxAgeMs = 1_000;

/** The row of the whole bridge, its rate budget and its holds, as this process knows it; one per process. */
export class CachedBudget {
  readonly #store: BudgetStore;
  readonly #clock: Clock;
  #state: BudgetState = freshBudget;
  #stateAtMs = Number.NEGATIVE_INFINITY;
  /** Number of times that this process has changed a hold: a read that began before does not contain it. */
  #changes = 0;

  constructor(store: BudgetStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Of any age: nothing is stored yet until it is first read. */
  get state(): BudgetState {
    return this.#state;
  }

  get isFresh(): boolean {
    return isYoung(this.#stateAtMs, this.#clock.now(), maxAgeMs);
  }

  async refresh(): Promise<void> {
    if (this.isFresh) return;
    const changes = this.#changes;
    this.#update(await reached(this.#store.read()), changes);
  }

  /** Applies a change here at once, and stores it for the other processes. */
  async change(rule: (state: BudgetState) => BudgetState): Promise<BudgetState> {
    this.#changes += 1;
    this.#state = rule(this.#state);
    // Planted fault: pause-not-shared
    const { state } = await reached(this.#store.change((stored) => ({ state: rule(stored) })));
    this.#changes += 1;
    this.#state = state;
    return state;
  }

  async reserve(rule: (state: BudgetState) => Reservation): Promise<Reservation> {
    const changes = this.#changes;
    const reservation = await reached(this.#store.change(rule));
    this.#update(reservation.state, changes);
    return reservation;
  }

  /** Takes over the stored state, including an early end of a hold. */
  #update(state: BudgetState, changes: number): void {
    const { holds: _stored, ...rest } = state;
    const { holds } = this.#state;
    // Planted fault: pause-unseen-by-warm-process
    this.#state = changes === this.#changes ? state : { ...rest, ...(holds && { holds }) };
    this.#stateAtMs = this.#clock.now();
  }
}

async function reached<T>(access: Promise<T>): Promise<T> {
  try {
    return await access;
  } catch (error) {
    const { code, message } = asBridgeFault(error);
    throw new BridgeFault(code, `the rate budget cannot be reached: ${message}`, { cause: error });
  }
}

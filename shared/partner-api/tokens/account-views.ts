import type { OnUnreadable } from '../../contract/checks.ts';
import { type Clock, systemClock } from '../../domain/clock.ts';
import { PartnerError } from '../../domain/faults.ts';
import type { PartnerAccount } from '../../domain/partner-account.ts';
import type { PartnerAccounts } from '../../ports/partner-accounts.ts';

/** How old the row may be that a request to the partner service relies on. Counts from before the row was asked for. */
export const viewMaxAgeMs = 5_000;
/** How old the row may be for a request that is yet to come: it may have to wait for its turn. */
const takenMaxAgeMs = 3_000;
/** While requests wait for their turn the row is read again this long after it was read last. */
const readAgainMs = 4_000;
/** After a reading that failed. */
const retryMs = 500;
/** A reading that takes longer than a view lasts is no use; it is tried once more. */
const maxReads = 2;

export interface AccountView {
  readonly account: PartnerAccount | undefined;
  /** When the reading began. */
  readonly askedAt: number;
}

interface Watch {
  users: number;
  readonly ended: AbortController;
}

/**
 * Rows of partner accounts as one process knows them, to be used in place of the port that it reads. Whatever is read
 * through it, for whichever purpose, is remembered for a few seconds: so the token source finds the row that drain or
 * fan-out have just read, and seldom reads it itself. One for each process.
 */
export class ViewedAccounts implements PartnerAccounts {
  readonly #accounts: PartnerAccounts;
  readonly #clock: Clock;
  readonly #views = new Map<string, AccountView>();
  readonly #readings = new Map<string, Promise<PartnerAccount | undefined>>();
  readonly #watches = new Map<string, Watch>();

  constructor(accounts: PartnerAccounts, clock: Clock = systemClock) {
    this.#accounts = accounts;
    this.#clock = clock;
  }

  async read(name: string) {
    const askedAt = this.#clock.now();
    const found = await this.#accounts.read(name);
    this.#remember(name, { account: found?.value, askedAt });
    return found;
  }

  async list(onUnreadable?: OnUnreadable): Promise<PartnerAccount[]> {
    const askedAt = this.#clock.now();
    const listed = await this.#accounts.list(onUnreadable);
    for (const account of listed) this.#remember(account.name, { account, askedAt });
    return listed;
  }

  async write(account: PartnerAccount, expected: number): Promise<boolean> {
    this.#views.delete(account.name);
    return this.#accounts.write(account, expected);
  }

  async remove(name: string): Promise<void> {
    this.#views.delete(name);
    return this.#accounts.remove(name);
  }

  /**
   * The row as it stood at most three seconds ago, and in `generation` if it has come to that by now: a view of
   * another generation is not believed, for it may be older than the caller. Callers side by side share one reading.
   *
   * @throws {PartnerError} `transient` when the row cannot be read in time; what the adapter throws
   */
  async view(name: string, generation: number): Promise<PartnerAccount | undefined> {
    const known = this.#views.get(name);
    if (known && this.#isFresh(known, takenMaxAgeMs) && known.account?.generation === generation)
      return known.account;
    const running = this.#readings.get(name);
    if (running) {
      const account = await running;
      if (account?.generation === generation) return account;
    }
    return this.#readShared(name);
  }

  /** The row as it stood at most {@link viewMaxAgeMs} ago, without waiting for it; undefined when none is known. */
  seen(name: string): AccountView | undefined {
    const known = this.#views.get(name);
    return known && this.#isFresh(known) ? known : undefined;
  }

  /** Keeps what {@link seen} tells from growing too old, until the function that it returns is called. */
  keepInView(name: string): () => void {
    const watch = this.#watches.get(name) ?? { users: 0, ended: new AbortController() };
    watch.users += 1;
    if (watch.users === 1) {
      this.#watches.set(name, watch);
      void this.#watch(name, watch.ended.signal);
    }
    return () => {
      watch.users -= 1;
      if (watch.users > 0) return;
      this.#watches.delete(name);
      watch.ended.abort('not needed any more');
    };
  }

  async #watch(name: string, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const now = this.#clock.now();
      const known = this.#views.get(name);
      const dueAt = known && this.#isFresh(known) ? known.askedAt + readAgainMs : now + retryMs;
      await this.#clock.sleep(Math.max(0, dueAt - now), signal);
      if (signal.aborted) return;
      // Where it cannot be read: whoever relies on it finds it too old.
      if (this.#views.get(name) === known) await this.#readShared(name).catch(() => undefined);
    }
  }

  #readShared(name: string): Promise<PartnerAccount | undefined> {
    const running = this.#readings.get(name);
    if (running) return running;
    const begun = this.#readInTime(name).finally(() => this.#readings.delete(name));
    this.#readings.set(name, begun);
    return begun;
  }

  async #readInTime(name: string): Promise<PartnerAccount | undefined> {
    for (let reads = 1; reads <= maxReads; reads += 1) {
      const askedAt = this.#clock.now();
      const found = await this.read(name);
      if (this.#isFresh({ askedAt })) return found?.value;
    }
    throw new PartnerError('transient', `the row of partner account ${name} cannot be read in time`);
  }

  #remember(name: string, view: AccountView): void {
    const known = this.#views.get(name);
    if (!known || known.askedAt <= view.askedAt) this.#views.set(name, view);
  }

  #isFresh({ askedAt }: Pick<AccountView, 'askedAt'>, maxAgeMs = viewMaxAgeMs): boolean {
    return this.#clock.now() - askedAt <= maxAgeMs;
  }
}

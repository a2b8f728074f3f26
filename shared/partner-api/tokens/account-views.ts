import type { OnUnreadable } from '../../contract/checks.ts';
import { type Clock, isYoung, systemClock } from '../../domain/clock.ts';
import { PartnerError } from '../../domain/faults.ts';
import type { PartnerAccount } from '../../domain/partner-account.ts';
import type { PartnerAccounts } from '../../ports/partner-accounts.ts';

/** Maximum age of the row when a request is sent to the partner service. The age counts from the start of the read. */
export const viewMaxAgeMs = 5_000;
/** Maximum age of the row for a request that may still have to wait for its slot. */
const takenMaxAgeMs = 3_000;
/** While requests wait for their slots, the row is read again at this interval. */
const readAgainMs = 4_000;
/** The interval after a failed read. */
const retryMs = 500;
/** A read that takes longer than this is useless, because the view would be too old; it is tried once more. */
const maxReads = 2;

export interface AccountView {
  readonly account: PartnerAccount | undefined;
  /** When the read began. */
  readonly askedAt: number;
}

interface Watch {
  users: number;
  readonly ended: AbortController;
}

/**
 * A cache of partner accounts' rows for one process, which replaces the port that it reads. Every row read through it
 * is remembered for a few seconds, so the token source usually finds the row that drain or fan-out have just read.
 * Create one per process.
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
   * Returns the row, at most three seconds old. A cached row of another generation than `generation` is read again,
   * because it may be older than the caller's data. Concurrent callers share one read.
   *
   * @throws {PartnerError} `transient` when the row cannot be read in time; also errors of the adapter
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

  /** Returns the cached row, at most {@link viewMaxAgeMs} old, without reading; undefined if there is none. */
  seen(name: string): AccountView | undefined {
    const known = this.#views.get(name);
    return known && this.#isFresh(known) ? known : undefined;
  }

  /** Refreshes the row that {@link seen} returns regularly, until the returned function is called. */
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
      // If the read fails, the row becomes too old, and its users notice that.
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
    const isNewer = !known || known.askedAt <= view.askedAt || known.askedAt > this.#clock.now();
    if (isNewer) this.#views.set(name, view);
  }

  #isFresh({ askedAt }: Pick<AccountView, 'askedAt'>, maxAgeMs = viewMaxAgeMs): boolean {
    return isYoung(askedAt, this.#clock.now(), maxAgeMs);
  }
}

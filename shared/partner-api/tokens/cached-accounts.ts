import type { OnUnreadable } from '../../contract/checks.ts';
import { type Clock, isYoung, systemClock } from '../../domain/clock.ts';
import { PartnerError } from '../../domain/faults.ts';
import { type PartnerAccount, stopOf } from '../../domain/partner-account.ts';
import type { PartnerAccounts } from '../../state/partner-accounts.ts';

/** Maximum age of the row when a request is sent to the partner service. The age counts from the start of the read. */
export const rowMaxAgeMs = 5_000;

export interface CachedAccount {
  readonly account: PartnerAccount | undefined;
  /** When the read began. */
  readonly readAt: number;
}

type Accounts = Pick<PartnerAccounts, 'list' | 'read' | 'change'>;

/**
 * The rows of partner accounts, each cached for five seconds; one per process. What drain and fan-out read through it,
 * the token source need not read again.
 */
export class CachedAccounts implements Accounts {
  readonly #accounts: Accounts;
  readonly #clock: Clock;
  readonly #cached = new Map<string, CachedAccount>();
  readonly #reading = new Map<string, Promise<PartnerAccount | undefined>>();
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

  /**
   * Reads the row; concurrent callers share one read.
   *
   * @throws {PartnerError} `transient` if the read takes so long that the row would be too old; also errors of the adapter
   */
  get(name: string): Promise<PartnerAccount | undefined> {
    const running = this.#reading.get(name);
    if (running) return running;
    const reading = this.#readInTime(name).finally(() => this.#reading.delete(name));
    this.#reading.set(name, reading);
    return reading;
  }

  async #readInTime(name: string): Promise<PartnerAccount | undefined> {
    const readAt = this.#clock.now();
    const found = await this.read(name);
    if (isYoung(readAt, this.#clock.now(), rowMaxAgeMs)) return found;
    throw new PartnerError('transient', `the row of partner account ${name} cannot be read in time`);
  }

  #keep(name: string, cached: CachedAccount): void {
    const known = this.#cached.get(name);
    const isNewer = !known || known.readAt <= cached.readAt || known.readAt > this.#clock.now();
    if (isNewer) this.#cached.set(name, cached);
  }
}

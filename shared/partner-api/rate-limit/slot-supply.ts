/**
 * Slots are reserved in the store, in one step for all requests that wait, and used within a few milliseconds or not at
 * all. With slots 5 % further apart than the rate demands, no window of a second holds more starts than the rate,
 * whichever function they come from: a slot used up to `lateMs` late needs `1000 + lateMs + earlyMs < 1000 * spread`.
 */
import type { Clock } from '../../domain/clock.ts';
import type { Reservation } from '../../domain/rate-budget.ts';
import type { BudgetStore } from '../../ports/budget-store.ts';
import type { BudgetView } from './budget-view.ts';
import { ReservedSlots } from './reserved-slots.ts';

export interface SlotSupplyDeps {
  readonly store: BudgetStore;
  readonly view: BudgetView;
  readonly clock: Clock;
  /** Of the whole bridge. */
  readonly maxRequestsPerSecond: number;
  /** How long all other requests wait for the outcome of a trial. */
  readonly trialMs: number;
}

const spread = 1.05;
/** Leaves some 9 ms by which the network may bring requests closer together. */
const lateMs = 40;
/** Timers are no finer. */
export const earlyMs = 1;
/** A store that takes longer is stalled, which says nothing about the next time. */
const maxStoreMs = 1_000;

/** The slots that this process has reserved, and how it gets more. */
export class SlotSupply {
  readonly #deps: SlotSupplyDeps;
  readonly #intervalMs: number;
  readonly #reserved: ReservedSlots;
  #usedSinceReserving = 0;
  /** How long the store took last time. Slots are asked for from then on, or they would be late at once. */
  #storeMs = 0;

  constructor(deps: SlotSupplyDeps) {
    this.#deps = deps;
    this.#intervalMs = (1000 / deps.maxRequestsPerSecond) * spread;
    this.#reserved = new ReservedSlots(this.#intervalMs);
  }

  get count(): number {
    return this.#reserved.count;
  }

  /** The oldest slot. */
  get next(): number | undefined {
    return this.#reserved.first;
  }

  dropLate(now: number): void {
    this.#reserved.dropBefore(now - lateMs);
  }

  /** Uses a slot that has come. @returns whether there is one */
  takeNow(now: number): boolean {
    this.dropLate(now);
    const slot = this.#reserved.first;
    if (slot === undefined || slot > now + earlyMs) return false;
    this.#reserved.take();
    this.#usedSinceReserving += 1;
    return true;
  }

  /** When a request that `place` others wait before can start at the earliest. */
  at(place: number, now: number): number {
    const afterReserved = (place - this.#reserved.count) * this.#intervalMs;
    return this.#reserved.at(place) ?? Math.max(this.#deps.view.nextSlotMs, now) + afterReserved;
  }

  /** Whether more are to be reserved before anybody has to wait for the store. */
  isLow(now: number): boolean {
    return this.#reserved.count < this.#usedSinceReserving / 2 && this.#ahead(now) > 0;
  }

  /**
   * Reserves slots for so many requests that wait. A trial, which the store lets through after the circuit breaker's pause, is
   * not added: it is for one request alone.
   */
  async reserve(waiting: number, now: number): Promise<Reservation & { readonly isTrial: boolean }> {
    const count = Math.max(1, waiting - this.#reserved.count + this.#ahead(now));
    this.#usedSinceReserving = 0;
    const reservation = await this.#ask({ count, nowMs: now + this.#storeMs });
    this.#storeMs = Math.min(maxStoreMs, Math.max(0, this.#deps.clock.now() - now));
    const { granted, firstSlotMs, state } = reservation;
    this.#deps.view.update(state, now);
    const isTrial = granted === 1 && state.pauseReason === 'circuit';
    if (!isTrial) this.#reserved.add(firstSlotMs, granted);
    return { ...reservation, isTrial };
  }

  /** The slot for the second request of a trial. */
  async followTrial(): Promise<Reservation> {
    const reservation = await this.#ask({ count: 1, nowMs: this.#deps.clock.now(), followsTrial: true });
    this.#deps.view.update(reservation.state);
    return reservation;
  }

  #ask(request: { count: number; nowMs: number; followsTrial?: boolean }): Promise<Reservation> {
    const { store, trialMs } = this.#deps;
    return store.reserve({ ...request, intervalMs: this.#intervalMs, trialMs });
  }

  /**
   * How many slots to reserve for requests that have not come yet: at high rates none should wait for the store. None
   * where slots are scarce, for one that is not used within `lateMs` is lost.
   */
  #ahead(now: number): number {
    const mostAhead = Math.floor(lateMs / this.#intervalMs);
    return this.#deps.view.nextSlotMs <= now + earlyMs
      ? Math.min(2 * this.#usedSinceReserving, mostAhead)
      : 0;
  }
}

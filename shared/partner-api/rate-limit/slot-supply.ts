/**
 * Reserves slots in the store, in one step for all waiting requests. A slot is used within a few milliseconds of its
 * time, or lost. Slots are 5 % further apart than the rate requires, so that no window of one second contains more
 * requests than the rate, from whichever functions they come. For slots used up to `lateMs` late, this requires `1000 +
 * lateMs + earlyMs < 1000 * spread`.
 */
import type { Clock } from '../../domain/clock.ts';
import { freeSlotMs, maxAheadMs, type Reservation } from '../../domain/rate-budget.ts';
import type { BudgetStore } from '../../ports/budget-store.ts';
import type { BudgetView } from './budget-view.ts';
import { ReservedSlots } from './reserved-slots.ts';

export interface SlotSupplyDeps {
  readonly store: BudgetStore;
  readonly view: BudgetView;
  readonly clock: Clock;
  /** Request rate of the whole bridge. */
  readonly maxRequestsPerSecond: number;
  /** How long all other requests wait for the result of a trial. */
  readonly trialMs: number;
}

const spread = 1.05;
/** Leaves about 9 ms for network delays that bring requests closer together. */
const lateMs = 40;
/** The resolution of timers. */
export const earlyMs = 1;
/** A longer delay means that the store was stalled, which does not predict the next delay. */
const maxStoreMs = 1_000;

/** The reserved slots of this process, and the reservation of more. */
export class SlotSupply {
  readonly #deps: SlotSupplyDeps;
  readonly #intervalMs: number;
  readonly #reserved: ReservedSlots;
  #usedSinceReserving = 0;
  /** Duration of the last store call. Slots are reserved from that much later on; otherwise they would already be late. */
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
    this.#reserved.dropBeyond(now + maxAheadMs);
  }

  /** Uses a slot whose time has come. @returns whether there was one */
  takeNow(now: number): boolean {
    this.dropLate(now);
    const slot = this.#reserved.first;
    if (slot === undefined || slot > now + earlyMs) return false;
    this.#reserved.take();
    this.#usedSinceReserving += 1;
    return true;
  }

  /** The earliest start of a request that has `place` others before it. */
  at(place: number, now: number): number {
    const afterReserved = (place - this.#reserved.count) * this.#intervalMs;
    return this.#reserved.at(place) ?? freeSlotMs(this.#deps.view, now) + afterReserved;
  }

  /** Whether to reserve more slots now, so that no request has to wait for the store. */
  isLow(now: number): boolean {
    return this.#reserved.count < this.#usedSinceReserving / 2 && this.#ahead(now) > 0;
  }

  /**
   * Reserves slots for the given number of waiting requests. The slot of a trial (after the circuit breaker's pause) is
   * not added to the supply, because it is for one request only.
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
   * Number of slots to reserve for future requests, so that at high rates no request waits for the store. Zero if slots
   * are scarce, because a slot that is not used within `lateMs` is lost.
   */
  #ahead(now: number): number {
    const mostAhead = Math.floor(lateMs / this.#intervalMs);
    return this.#deps.view.nextSlotMs <= now + earlyMs
      ? Math.min(2 * this.#usedSinceReserving, mostAhead)
      : 0;
  }
}

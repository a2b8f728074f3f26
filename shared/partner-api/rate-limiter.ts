/**
 * Lets each request wait for its slot of the shared rate budget. Slots are reserved in one conditional write for all
 * requests that wait. A slot is used within `lateMs` of its time, or lost. Slots are 5 % further apart than the rate
 * requires, so that no window of one second contains more requests than the rate, from whichever functions they come.
 * This requires `1000 + lateMs + earlyMs < 1000 * spread`.
 */
import type { Clock } from '../domain/clock.ts';
import { asBridgeFault, BridgeFault } from '../domain/faults.ts';
import { freeSlotMs, reserveSlots } from '../state/budget.ts';
import type { CachedBudget } from './cached-rows.ts';

export interface RateLimiterOptions {
  readonly budget: CachedBudget;
  /** Request rate of the whole bridge. */
  readonly maxRequestsPerSecond: number;
  readonly clock: Clock;
  /** When aborted, no new request begins, so that a hanging service does not delay the end of the bridge. Default: never. */
  readonly stopped?: AbortSignal;
}

interface Waiter {
  readonly resource: string;
  readonly deadlineMs: number;
  readonly start: (untilMs: number) => void;
  readonly refuse: (fault: BridgeFault) => void;
}

const spread = 1.05;
/** Leaves about 9 ms for network delays that bring requests closer together. */
const lateMs = 40;
/** The resolution of timers. */
const earlyMs = 1;
/** A longer delay of the store or of a timer means that the process was stalled, which does not predict the next delay. */
const maxDelayMs = 500;
const delayOf = (ms: number): number => Math.min(maxDelayMs, Math.max(0, ms));

/** One per process and budget. */
export class RateLimiter {
  readonly #lateMs: number;
  readonly #budget: CachedBudget;
  readonly #clock: Clock;
  readonly #stopped: AbortSignal | undefined;
  readonly #intervalMs: number;
  readonly #waiters: Waiter[] = [];
  #isServing = false;
  /** Reserved slots that are not used yet: the first one and their number. */
  #firstSlotMs = 0;
  #slots = 0;
  /** Duration of the last reservation. Slots are reserved from that much later on; otherwise they would already be late. */
  #storeMs = 0;
  /** Delay of the last timer. Where each timer is late by more than `lateMs`, all slots would be lost without it. */
  #timerMs = 0;
  /** How far this process's clock is from the one by which slots are given. */
  #offsetMs = 0;

  constructor({ budget, maxRequestsPerSecond, clock, stopped }: RateLimiterOptions) {
    this.#budget = budget;
    this.#clock = clock;
    this.#stopped = stopped;
    this.#intervalMs = (1000 / maxRequestsPerSecond) * spread;
    // At low rates the slots are further apart.
    this.#lateMs = lateMs * Math.max(1, 1 / maxRequestsPerSecond);
  }

  /**
   * @returns until when the request may be sent, ms since 1970; later it needs another slot
   * @throws {BridgeFault} `paused`, with `retryAfterMs`: there is no slot before `deadlineMs`; `transient` without the
   * store
   */
  enter(resource: string, deadlineMs: number): Promise<number> {
    const fault = this.#refusal(resource, deadlineMs, this.#waiters.length);
    if (fault) return Promise.reject(fault);
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    // Deferred, so that all requests of this turn of the event loop share one reservation.
    if (!this.#isServing) queueMicrotask(() => void this.#serve());
    this.#isServing = true;
    this.#waiters.push({ resource, deadlineMs, start: resolve, refuse: reject });
    return promise;
  }

  /** The time of the clock by which slots are given. */
  #now(): number {
    return this.#clock.now() + this.#offsetMs;
  }

  /** Starts requests when their slots have come, until none waits. If the store cannot be reached, all are refused. */
  async #serve(): Promise<void> {
    try {
      while (this.#waiters.length > 0) await this.#serveNext();
    } catch (error) {
      for (const { refuse } of this.#waiters.splice(0)) refuse(asBridgeFault(error));
    } finally {
      this.#isServing = false;
    }
  }

  async #serveNext(): Promise<void> {
    // Who gets a slot then sees a hold that another process has made.
    if (this.#slots > 0) await this.#budget.refresh();
    this.#refuseLate();
    while (this.#waiters.length > 0) {
      const untilMs = this.#takeSlot();
      if (untilMs === undefined) break;
      this.#waiters.shift()?.start(untilMs);
    }
    if (this.#waiters.length === 0) return;
    if (this.#slots === 0) return this.#reserve();
    const now = this.#now();
    const sleepMs = Math.max(earlyMs, this.#firstSlotMs - now - this.#timerMs);
    await this.#clock.sleep(sleepMs);
    this.#timerMs = delayOf(this.#now() - now - sleepMs - earlyMs);
  }

  /** Refuses requests that wait in vain; the others keep their order. */
  #refuseLate(): void {
    for (const waiter of this.#waiters.splice(0)) {
      const fault = this.#refusal(waiter.resource, waiter.deadlineMs, this.#waiters.length);
      if (fault) waiter.refuse(fault);
      else this.#waiters.push(waiter);
    }
  }

  /** Why there is no slot in time for the request before which `place` others wait. */
  #refusal(resource: string, deadlineMs: number, place: number): BridgeFault | undefined {
    if (this.#stopped?.aborted) return notSent(resource, 'the bridge is stopping', 0);
    const isReserved = place < this.#slots;
    const firstMs = isReserved ? this.#firstSlotMs : freeSlotMs(this.#budget.state, this.#now());
    const waitMs = firstMs + (isReserved ? place : place - this.#slots) * this.#intervalMs - this.#now();
    if (this.#clock.now() + waitMs <= deadlineMs) return undefined;
    return notSent(resource, 'the rate budget has no slot before the deadline', waitMs);
  }

  /** Uses a slot whose time has come. @returns until when it may be used; undefined: there is none */
  #takeSlot(): number | undefined {
    const late = Math.ceil((this.#now() - lateMs - this.#firstSlotMs) / this.#intervalMs);
    if (late > 0) this.#useSlots(Math.min(late, this.#slots));
    if (this.#slots === 0 || this.#firstSlotMs > this.#now() + earlyMs) return undefined;
    const untilMs = this.#firstSlotMs + this.#lateMs - this.#offsetMs;
    this.#useSlots(1);
    return untilMs;
  }

  #useSlots(count: number): void {
    this.#firstSlotMs += count * this.#intervalMs;
    this.#slots -= count;
  }

  async #reserve(): Promise<void> {
    const askedAtMs = this.#clock.now();
    const [intervalMs, offsetMs] = [this.#intervalMs, this.#offsetMs];
    // Where slots are scarce none for requests to come, because an unused slot is lost.
    const isScarce = freeSlotMs(this.#budget.state, this.#now()) > this.#now() + earlyMs;
    const ahead = isScarce ? 0 : Math.floor(lateMs / intervalMs);
    // At most for a second, so that a pause is noticed.
    const count = Math.min(this.#waiters.length + ahead, Math.ceil(1000 / intervalMs));
    const request = { count, intervalMs, offsetMs, lastClockMs: this.#budget.state.clockMs };
    const reserved = await this.#budget.reserve((state) =>
      // Not the time of an earlier attempt: the process may have stood still in between.
      reserveSlots(state, { ...request, nowMs: this.#clock.now() + this.#storeMs }),
    );
    this.#storeMs = delayOf(this.#clock.now() - askedAtMs);
    this.#offsetMs = reserved.offsetMs;
    this.#firstSlotMs = reserved.firstSlotMs;
    this.#slots = count;
  }
}

const notSent = (resource: string, why: string, waitMs: number) =>
  new BridgeFault('paused', `not sent (${resource}): ${why}`, {
    retryAfterMs: Math.max(1, Math.ceil(waitMs)),
  });

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

interface Waiter extends Pick<PromiseWithResolvers<number>, 'resolve' | 'reject'> {
  readonly resource: string;
  readonly deadlineMs: number;
}

const spread = 1.05;
/** Leaves about 9 ms for network delays that bring requests closer together. */
const lateMs = 40;
/** The resolution of timers. */
const earlyMs = 1;
/** A longer delay of the store or of a timer means that the process was stalled, which does not predict the next delay. */
const maxDelayMs = 500;
const delayOf = (ms: number): number => Math.min(maxDelayMs, Math.max(0, ms));

export type RateLimiter = ReturnType<typeof createRateLimiter>;

/** One per process and budget. */
export function createRateLimiter({ budget, maxRequestsPerSecond, clock, stopped }: RateLimiterOptions) {
  const intervalMs = (1000 / maxRequestsPerSecond) * spread;
  // At low rates the slots are further apart.
  const usableMs = lateMs * Math.max(1, 1 / maxRequestsPerSecond);
  const waiters: Waiter[] = [];
  let isServing = false;
  /** Reserved slots that are not used yet: the first one and their number. */
  let firstSlotMs = 0;
  let slots = 0;
  /** Duration of the last reservation. Slots are reserved from that much later on; otherwise they would already be late. */
  let storeMs = 0;
  /** Delay of the last timer. Where each timer is late by more than `lateMs`, all slots would be lost without it. */
  let timerMs = 0;
  /** How far this process's clock is from the one by which slots are given. */
  let offsetMs = 0;

  /** The time of the clock by which slots are given. */
  const slotClock = (): number => clock.now() + offsetMs;

  /** Starts requests when their slots have come, until none waits. If the store cannot be reached, all are refused. */
  async function serve(): Promise<void> {
    try {
      while (waiters.length > 0) await serveNext();
    } catch (error) {
      for (const { reject } of waiters.splice(0)) reject(asBridgeFault(error));
    } finally {
      isServing = false;
    }
  }

  async function serveNext(): Promise<void> {
    // The state is read again, so that whoever gets a slot sees a hold that another process has made.
    if (slots > 0) await budget.refresh();
    refuseLate();
    while (waiters.length > 0) {
      const untilMs = takeSlot();
      if (untilMs === undefined) break;
      waiters.shift()?.resolve(untilMs);
    }
    if (waiters.length === 0) return;
    if (slots === 0) return reserve();
    const now = slotClock();
    const sleepMs = Math.max(earlyMs, firstSlotMs - now - timerMs);
    await clock.sleep(sleepMs);
    timerMs = delayOf(slotClock() - now - sleepMs - earlyMs);
  }

  /** Refuses requests that wait in vain; the others keep their order. */
  function refuseLate(): void {
    for (const waiter of waiters.splice(0)) {
      const fault = refusal(waiter.resource, waiter.deadlineMs, waiters.length);
      if (fault) waiter.reject(fault);
      else waiters.push(waiter);
    }
  }

  /** Why there is no slot in time for the request before which `place` others wait. */
  function refusal(resource: string, deadlineMs: number, place: number): BridgeFault | undefined {
    if (stopped?.aborted) return notSent(resource, 'the bridge is stopping', 0);
    const isReserved = place < slots;
    const firstMs = isReserved ? firstSlotMs : freeSlotMs(budget.state, slotClock());
    const waitMs = firstMs + (isReserved ? place : place - slots) * intervalMs - slotClock();
    if (clock.now() + waitMs <= deadlineMs) return undefined;
    return notSent(resource, 'the rate budget has no slot before the deadline', waitMs);
  }

  /** Uses a slot whose time has come. @returns until when it may be used; undefined: there is none */
  function takeSlot(): number | undefined {
    const late = Math.ceil((slotClock() - lateMs - firstSlotMs) / intervalMs);
    if (late > 0) useSlots(Math.min(late, slots));
    if (slots === 0 || firstSlotMs > slotClock() + earlyMs) return undefined;
    const untilMs = firstSlotMs + usableMs - offsetMs;
    useSlots(1);
    return untilMs;
  }

  function useSlots(count: number): void {
    firstSlotMs += count * intervalMs;
    slots -= count;
  }

  async function reserve(): Promise<void> {
    const askedAtMs = clock.now();
    // Where slots are scarce, none are reserved for requests that may still come, because an unused slot is lost.
    const isScarce = freeSlotMs(budget.state, slotClock()) > slotClock() + earlyMs;
    const ahead = isScarce ? 0 : Math.floor(lateMs / intervalMs);
    // At most for a second, so that a pause is noticed.
    const count = Math.min(waiters.length + ahead, Math.ceil(1000 / intervalMs));
    const request = { count, intervalMs, offsetMs, lastClockMs: budget.state.clockMs };
    let nowMs = 0;
    const { nextSlotMs, clockMs = nowMs } = await budget.reserve((state) => {
      // The time is taken for each attempt, because the process may have stood still in between.
      nowMs = clock.now() + storeMs;
      return reserveSlots(state, { ...request, nowMs });
    });
    storeMs = delayOf(clock.now() - askedAtMs);
    offsetMs = clockMs - nowMs;
    firstSlotMs = nextSlotMs - count * intervalMs;
    slots = count;
  }

  return {
    /**
     * @returns until when the request may be sent, ms since 1970; later it needs another slot
     * @throws {BridgeFault} `paused`, with `retryAfterMs`: there is no slot before `deadlineMs`; `transient` without the
     * store
     */
    enter(resource: string, deadlineMs: number): Promise<number> {
      const fault = refusal(resource, deadlineMs, waiters.length);
      if (fault) return Promise.reject(fault);
      const { promise, resolve, reject } = Promise.withResolvers<number>();
      // Deferred, so that all requests of this turn of the event loop share one reservation.
      if (!isServing) queueMicrotask(() => void serve());
      isServing = true;
      waiters.push({ resource, deadlineMs, resolve, reject });
      return promise;
    },
  };
}

const notSent = (resource: string, why: string, waitMs: number) =>
  new BridgeFault('paused', `not sent (${resource}): ${why}`, {
    retryAfterMs: Math.max(1, Math.ceil(waitMs)),
  });

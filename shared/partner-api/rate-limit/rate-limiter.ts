/**
 * The rate budget, as seen by requests: each waits for its slot. Slots are reserved in the shared store, all those that
 * ask at the same time in one step, and used within a few milliseconds or not at all. With slots 5 % further apart than
 * the rate demands, no window of a second holds more starts than the rate, whichever function they come from:
 * a slot used up to `lateMs` late needs `1000 + lateMs + earlyMs < 1000 * spread`.
 */
import { type Clock, systemClock } from '../../domain/clock.ts';
import { asPartnerError, PartnerError } from '../../domain/faults.ts';
import type { Reservation } from '../../domain/rate-budget.ts';
import type { BudgetStore } from '../../ports/budget-store.ts';
import type { Observer } from '../../ports/observer.ts';
import { createBudgetView } from './budget-view.ts';
import { createFeedback } from './feedback.ts';
import { createReservedSlots } from './reserved-slots.ts';

export interface RateLimiterOptions {
  readonly store: BudgetStore;
  /** Of the whole bridge. */
  readonly maxRequestsPerSecond: number;
  /** How long nothing is sent when the service blocks this address. */
  readonly circuitSeconds: number;
  readonly clock?: Clock;
  readonly random?: () => number;
  readonly observer?: Observer;
  /** How long everybody else waits for the outcome of a trial. Default 30,000. */
  readonly trialMs?: number;
  /**
   * A pause that another function was told of is known here after this, even while slots reserved earlier last: costs
   * a read of the store where requests wait longer for their slots. Default 1,000.
   */
  readonly viewMaxAgeMs?: number;
}

export interface RateLimiter {
  /**
   * Resolves when the request may start, which it then has to at once.
   *
   * @throws {PartnerError} `paused`, with `retryAfterMs`: the service asked for a pause, or there is no slot before
   * `deadlineMs`; `passing` when the store cannot be reached
   */
  enter(resource: string, deadlineMs: number): Promise<void>;
  /**
   * Takes note of how the service answered: what it asks for holds for the whole bridge.
   *
   * @param fault none: it answered well
   * @param startedAtMs when the request was sent
   * @param isUndecided the fault may be about the request's cursor alone: it says nothing about the address, and the
   * request without the cursor, which the caller sends next under the same name, decides. Default false
   * @returns when the others know, or undefined when there is nothing to be known
   */
  answered(
    resource: string,
    fault: PartnerError | undefined,
    startedAtMs: number,
    isUndecided?: boolean,
  ): Promise<void> | undefined;
}

const spread = 1.05;
/** Leaves the network some 9 ms by which requests may come closer together on their way. */
const lateMs = 40;
/** Timers are no finer; waiting for less is not worth one. */
const earlyMs = 1;
/** Later than that is a stall, which says nothing about the next timer. */
const maxLagMs = 500;

interface Waiter {
  readonly resource: string;
  readonly deadlineMs: number;
  readonly start: () => void;
  readonly refuse: (fault: PartnerError) => void;
}

/** Creates the rate limiter; one for each process and budget. */
export function createRateLimiter(options: RateLimiterOptions): RateLimiter {
  const { store, maxRequestsPerSecond, circuitSeconds, observer } = options;
  const { trialMs = 30_000, viewMaxAgeMs = 1_000 } = options;
  const { clock = systemClock, random = Math.random } = options;
  const intervalMs = (1000 / maxRequestsPerSecond) * spread;
  const maxAhead = Math.floor(lateMs / intervalMs);
  const view = createBudgetView(clock);
  const reserved = createReservedSlots(intervalMs);
  const waiters: Waiter[] = [];
  const started = Promise.resolve();
  let serving = false;
  let reserving = false;
  let sleeping = false;
  let usedSinceReserving = 0;
  /** How late the last timer was. */
  let lagMs = 0;
  /** What the trial after a circuit pause asked for, when its answer has decided nothing: the next request does. */
  let undecidedTrial: string | undefined;
  /** How long the store took last time: the slots asked for begin after that, or they would be late at once. */
  let storeMs = 0;

  const isPaused = (now: number) => view.pausedUntilMs > now;
  const isFresh = (now: number) => now - view.seenAtMs <= viewMaxAgeMs;

  function paused({ resource }: Pick<Waiter, 'resource'>, untilMs: number, why: string): PartnerError {
    return new PartnerError('paused', `not sent (${resource}): ${why}`, {
      retryAfterMs: Math.max(1, Math.ceil(untilMs - clock.now())),
    });
  }
  const pausedByService = (waiter: Pick<Waiter, 'resource'>) =>
    paused(waiter, view.pausedUntilMs, 'the service asked for a pause');
  const tooLate = (waiter: Pick<Waiter, 'resource'>, slotMs: number) =>
    paused(waiter, slotMs, 'the rate budget has no slot before the deadline');
  const unreachable = (error: unknown) =>
    new PartnerError('transient', `the rate budget cannot be reached: ${asPartnerError(error).message}`, {
      cause: error,
    });

  function enter(resource: string, deadlineMs: number): Promise<void> {
    const now = clock.now();
    if (undecidedTrial === resource) return followTrial(resource, deadlineMs);
    if (isPaused(now) && isFresh(now)) return Promise.reject(pausedByService({ resource }));
    if (!isPaused(now) && waiters.length === 0 && startsAtOnce(now)) {
      // The next ones should not have to wait for the store.
      if (reserved.count() < usedSinceReserving / 2 && slotsAhead(now) > 0) reserve();
      return started;
    }
    return new Promise((start, refuse) => {
      waiters.push({ resource, deadlineMs, start, refuse });
      if (serving) return;
      serving = true;
      // Not yet: whoever else asks in this very moment shares the reservation.
      queueMicrotask(serve);
    });
  }

  function startsAtOnce(now: number): boolean {
    if (!isFresh(now)) return false;
    reserved.dropBefore(now - lateMs);
    const slot = reserved.first();
    if (slot === undefined || slot > now + earlyMs) return false;
    reserved.take();
    usedSinceReserving += 1;
    return true;
  }

  /** Starts whose turn it is, refuses whose deadline is too near, and sees to slots for the others. */
  function serve(): void {
    const now = clock.now();
    serving = false;
    if (isPaused(now)) {
      // It may have been ended early.
      if (waiters.length > 0 && !isFresh(now)) look();
      else refuseAll(pausedByService);
      return;
    }
    reserved.dropBefore(now - lateMs);
    refuseTooLate(now);
    if (waiters.length === 0) return;
    if (reserved.count() > 0 && !isFresh(now)) {
      look();
      return;
    }
    while (waiters.length > 0 && startsAtOnce(now)) waiters.shift()?.start();
    if (reserved.count() < waiters.length) reserve();
    sleepUntilNext(now);
  }

  function refuseAll(faultOf: (waiter: Waiter) => PartnerError): void {
    for (const waiter of waiters.splice(0)) waiter.refuse(faultOf(waiter));
  }

  /** Whoever cannot have a slot before his deadline takes none from those who can. */
  function refuseTooLate(now: number): void {
    let place = 0;
    for (let i = 0; i < waiters.length; ) {
      const waiter = waiters[i] as Waiter;
      const slot = reserved.at(place) ?? earliestBeyondReserved(place, now);
      if (slot <= waiter.deadlineMs) {
        place += 1;
        i += 1;
        continue;
      }
      waiters.splice(i, 1);
      waiter.refuse(tooLate(waiter, slot));
    }
  }

  const earliestBeyondReserved = (place: number, now: number): number =>
    Math.max(view.nextSlotMs, now) + (place - reserved.count()) * intervalMs;

  function sleepUntilNext(now: number): void {
    const slot = reserved.first();
    if (sleeping || waiters.length === 0 || slot === undefined) return;
    sleeping = true;
    // On a machine that is short of time every timer is late: then it has to be set earlier, or each slot is missed.
    const sleepMs = Math.max(earlyMs, slot - now - lagMs);
    void clock.sleep(sleepMs).then(() => {
      sleeping = false;
      lagMs = Math.min(maxLagMs, Math.max(0, clock.now() - now - sleepMs - earlyMs));
      serve();
    });
  }

  /**
   * How many slots to reserve for requests that have not come yet: at high rates nobody should wait for the store.
   * None where slots are scarce, for what is not used within `lateMs` is lost to everybody.
   */
  const slotsAhead = (now: number): number =>
    view.nextSlotMs <= now + earlyMs ? Math.min(2 * usedSinceReserving, maxAhead) : 0;

  function look(): void {
    if (reserving) return;
    reserving = true;
    const askedAtMs = clock.now();
    void ask(store.read().then((state) => view.saw(state, askedAtMs)));
  }

  function reserve(): void {
    if (reserving) return;
    reserving = true;
    const now = clock.now();
    const count = Math.max(1, waiters.length - reserved.count() + slotsAhead(now));
    usedSinceReserving = 0;
    void ask(
      store.reserve({ count, intervalMs, nowMs: now + storeMs, trialMs }).then((reservation) => {
        storeMs = Math.min(1_000, Math.max(0, clock.now() - now));
        view.saw(reservation.state, now);
        if (isTrial(reservation)) return startTrial(reservation);
        reserved.add(reservation.firstSlotMs, reservation.granted);
      }),
    );
  }

  async function ask(question: Promise<void>): Promise<void> {
    try {
      await question;
    } catch (error) {
      const fault = unreachable(error);
      refuseAll(() => fault);
    } finally {
      reserving = false;
    }
    serve();
  }

  /** After a circuit pause one request goes through, although everybody is told to wait for what comes of it. */
  function startTrial({ firstSlotMs }: Reservation): void {
    const trial = waiters.shift();
    if (!trial) return;
    void clock.sleep(Math.max(0, firstSlotMs - clock.now())).then(trial.start);
  }

  /** The second request of a trial is let through as the first one was, while everybody else goes on waiting. */
  async function followTrial(resource: string, deadlineMs: number): Promise<void> {
    undecidedTrial = undefined;
    const nowMs = clock.now();
    const request = { count: 1, intervalMs, nowMs, trialMs, followsTrial: true };
    const { granted, firstSlotMs, state } = await store.reserve(request).catch((error: unknown) => {
      throw unreachable(error);
    });
    view.saw(state);
    if (granted === 0) throw pausedByService({ resource });
    if (firstSlotMs > deadlineMs) throw tooLate({ resource }, firstSlotMs);
    await clock.sleep(Math.max(0, firstSlotMs - clock.now()));
  }

  const feedback = createFeedback({ store, view, clock, random, circuitSeconds, observer });
  const answered: RateLimiter['answered'] = (resource, fault, startedAtMs, isUndecided = false) => {
    if (!isUndecided) return feedback(resource, fault, startedAtMs);
    if (view.circuit && startedAtMs >= view.circuitSinceMs) undecidedTrial = resource;
    return undefined;
  };
  return { enter, answered };
}

const isTrial = ({ granted, state }: Reservation): boolean =>
  granted === 1 && state.pauseReason === 'circuit';

/**
 * Has each request wait for its slot of the shared rate budget. Slots are reserved in the store, in one step for all
 * requests that wait, and used within a few milliseconds or not at all. With slots 5 % further apart than the rate
 * demands, no window of a second holds more starts than the rate, whichever function they come from:
 * a slot used up to `lateMs` late needs `1000 + lateMs + earlyMs < 1000 * spread`.
 */
import { type Clock, systemClock } from '../../domain/clock.ts';
import { asPartnerError, PartnerError } from '../../domain/faults.ts';
import { operatorPausedFault, operatorPauseOf } from '../../domain/operator-pause.ts';
import type { Reservation } from '../../domain/rate-budget.ts';
import type { BudgetStore } from '../../ports/budget-store.ts';
import type { Observer } from '../../ports/observer.ts';
import { BudgetView } from './budget-view.ts';
import { Feedback } from './feedback.ts';
import { ReservedSlots } from './reserved-slots.ts';

export interface RateLimiterOptions {
  readonly store: BudgetStore;
  /** Of the whole bridge. */
  readonly maxRequestsPerSecond: number;
  /** How long the circuit breaker stays open: nothing is sent when the service blocks this address. */
  readonly circuitSeconds: number;
  readonly clock?: Clock;
  readonly random?: () => number;
  readonly observer?: Observer;
  /** How long all other requests wait for the outcome of a trial. Default 30,000. */
  readonly trialMs?: number;
}

export interface RateLimiter {
  /**
   * Resolves when the request may start, which it then has to at once.
   *
   * @param isForTokens it asks for tokens, which are kept alive while an operator's pause holds back all else. Default false
   * @throws {PartnerError} `paused`, with `retryAfterMs`: the service asked for a pause, or there is no slot before
   * `deadlineMs`; `operator-paused`: an operator has paused the whole bridge; `transient` when the store cannot be reached
   */
  enter(resource: string, deadlineMs: number, isForTokens?: boolean): Promise<void>;
  /**
   * Takes note of how the service answered. What it asks for holds for the whole bridge.
   *
   * @param fault none: it answered well
   * @param startedAtMs when the request was sent
   * @param isUndecided the fault may be about the request's cursor alone: it says nothing about the address, and the
   * request without the cursor, which the caller sends next under the same name, decides. Default false
   * @returns undefined when other processes need not know of it; else resolves when they can
   */
  answered(
    resource: string,
    fault: PartnerError | undefined,
    startedAtMs: number,
    isUndecided?: boolean,
  ): Promise<void> | undefined;
}

const spread = 1.05;
/** Leaves some 9 ms by which the network may bring requests closer together. */
const lateMs = 40;
/** Timers are no finer. */
const earlyMs = 1;
/** A timer that is later than this was stalled, which says nothing about the next one. */
const maxLagMs = 500;
/** A store that takes longer is stalled, which says nothing about the next time. */
const maxStoreMs = 1_000;
/**
 * A pause that another function found out is known here after this, even while there are reserved slots: costs a read of
 * the store where requests wait longer for their slots.
 */
const viewMaxAgeMs = 1_000;

interface Waiter {
  readonly resource: string;
  readonly deadlineMs: number;
  readonly isForTokens: boolean;
  readonly start: () => void;
  readonly refuse: (fault: PartnerError) => void;
}

/** Creates the rate limiter; one for each process and budget. */
export function createRateLimiter(options: RateLimiterOptions): RateLimiter {
  return new SharedRateLimiter(options);
}

class SharedRateLimiter implements RateLimiter {
  readonly #store: BudgetStore;
  readonly #clock: Clock;
  readonly #trialMs: number;
  readonly #intervalMs: number;
  readonly #view: BudgetView;
  readonly #reserved: ReservedSlots;
  readonly #feedback: Feedback;
  readonly #waiters: Waiter[] = [];
  /** One for all that start at once: nearly every request does. */
  readonly #started = Promise.resolve();
  #isServing = false;
  #isAsking = false;
  #isSleeping = false;
  #usedSinceReserving = 0;
  /** How late the last timer was. */
  #lagMs = 0;
  /** How long the store took last time. Slots are asked for from then on, or they would be late at once. */
  #storeMs = 0;
  /** Resource of a trial whose answer has decided nothing: the next request for it does. */
  #undecidedTrial: string | undefined;

  constructor(options: RateLimiterOptions) {
    const { store, circuitSeconds, observer, clock = systemClock, random = Math.random } = options;
    this.#store = store;
    this.#clock = clock;
    this.#trialMs = options.trialMs ?? 30_000;
    this.#intervalMs = (1000 / options.maxRequestsPerSecond) * spread;
    this.#view = new BudgetView(clock);
    this.#reserved = new ReservedSlots(this.#intervalMs);
    this.#feedback = new Feedback({ store, view: this.#view, clock, random, circuitSeconds, observer });
  }

  enter(resource: string, deadlineMs: number, isForTokens = false): Promise<void> {
    const now = this.#clock.now();
    if (this.#undecidedTrial === resource) return this.#followTrial(resource, deadlineMs);
    const isPaused = this.#view.pausedUntilMs > now;
    const isHeldBack = !isForTokens && operatorPauseOf(this.#view, now) !== undefined;
    if (isPaused && !isHeldBack && this.#isFresh(now))
      return Promise.reject(this.#pausedByService({ resource }));
    if (!isPaused && !isHeldBack && this.#waiters.length === 0 && this.#startsAtOnce(now)) {
      // So that the next requests need not wait for the store.
      if (this.#reserved.count < this.#usedSinceReserving / 2 && this.#slotsAhead(now) > 0) this.#reserve();
      return this.#started;
    }
    return new Promise((start, refuse) => {
      this.#waiters.push({ resource, deadlineMs, isForTokens, start, refuse });
      if (this.#isServing) return;
      this.#isServing = true;
      // Not yet: requests that come in this turn share the reservation.
      queueMicrotask(() => this.#serve());
    });
  }

  answered(...[resource, fault, startedAtMs, isUndecided]: Parameters<RateLimiter['answered']>) {
    // Planted fault: cursor-403-counted
    if (!isUndecided) return this.#feedback.answered(resource, fault, startedAtMs);
    if (this.#view.circuit && startedAtMs >= this.#view.circuitSinceMs) this.#undecidedTrial = resource;
    return undefined;
  }

  #isFresh(now: number): boolean {
    return now - this.#view.seenAtMs <= viewMaxAgeMs;
  }

  #startsAtOnce(now: number): boolean {
    if (!this.#isFresh(now)) return false;
    this.#reserved.dropBefore(now - lateMs);
    const slot = this.#reserved.first;
    if (slot === undefined || slot > now + earlyMs) return false;
    this.#reserved.take();
    this.#usedSinceReserving += 1;
    return true;
  }

  /** Starts requests whose slot has come, refuses those whose deadline is too near, and gets slots for the others. */
  #serve(): void {
    const now = this.#clock.now();
    this.#isServing = false;
    const isPaused = this.#view.pausedUntilMs > now;
    const holdsBack =
      operatorPauseOf(this.#view, now) && this.#waiters.some(({ isForTokens }) => !isForTokens);
    // The pause may have been ended early.
    if ((isPaused || holdsBack) && this.#waiters.length > 0 && !this.#isFresh(now)) {
      this.#look();
      return;
    }
    this.#refuseHeldBack(now);
    if (isPaused) {
      this.#refuseAll((waiter) => this.#pausedByService(waiter));
      return;
    }
    this.#reserved.dropBefore(now - lateMs);
    this.#refuseTooLate(now);
    if (this.#waiters.length === 0) return;
    if (this.#reserved.count > 0 && !this.#isFresh(now)) {
      this.#look();
      return;
    }
    while (this.#waiters.length > 0 && this.#startsAtOnce(now)) this.#waiters.shift()?.start();
    if (this.#reserved.count < this.#waiters.length) this.#reserve();
    this.#sleepUntilNext(now);
  }

  #refuseAll(faultOf: (waiter: Waiter) => PartnerError): void {
    for (const waiter of this.#waiters.splice(0)) waiter.refuse(faultOf(waiter));
  }

  /** An operator has paused the bridge: requests for tokens alone go on waiting for their turn. */
  #refuseHeldBack(now: number): void {
    const pause = operatorPauseOf(this.#view, now);
    if (!pause) return;
    for (const waiter of this.#waiters.splice(0)) {
      // Planted fault: tokens-held-back
      if (waiter.isForTokens) this.#waiters.push(waiter);
      else waiter.refuse(operatorPausedFault(undefined, pause, now));
    }
  }

  /** A waiter that cannot have a slot before its deadline takes none from those that can. */
  #refuseTooLate(now: number): void {
    const left = this.#waiters.splice(0);
    for (const waiter of left) {
      const slot = this.#slotAt(this.#waiters.length, now);
      if (slot <= waiter.deadlineMs) this.#waiters.push(waiter);
      else waiter.refuse(this.#tooLate(waiter, slot));
    }
  }

  /** When the waiter that `place` others stand before can start at the earliest. */
  #slotAt(place: number, now: number): number {
    const afterReserved = (place - this.#reserved.count) * this.#intervalMs;
    return this.#reserved.at(place) ?? Math.max(this.#view.nextSlotMs, now) + afterReserved;
  }

  #sleepUntilNext(now: number): void {
    const slot = this.#reserved.first;
    if (this.#isSleeping || this.#waiters.length === 0 || slot === undefined) return;
    this.#isSleeping = true;
    // On a busy machine every timer is late: it is set earlier by as much, or each slot would be missed.
    const sleepMs = Math.max(earlyMs, slot - now - this.#lagMs);
    void this.#clock.sleep(sleepMs).then(() => {
      this.#isSleeping = false;
      this.#lagMs = Math.min(maxLagMs, Math.max(0, this.#clock.now() - now - sleepMs - earlyMs));
      this.#serve();
    });
  }

  /**
   * How many slots to reserve for requests that have not come yet: at high rates none should wait for the store. None
   * where slots are scarce, for one that is not used within `lateMs` is lost.
   */
  #slotsAhead(now: number): number {
    const mostAhead = Math.floor(lateMs / this.#intervalMs);
    return this.#view.nextSlotMs <= now + earlyMs ? Math.min(2 * this.#usedSinceReserving, mostAhead) : 0;
  }

  #look(): void {
    void this.#ask(async (now) => this.#view.update(await this.#store.read(), now));
  }

  #reserve(): void {
    void this.#ask(async (now) => {
      const count = Math.max(1, this.#waiters.length - this.#reserved.count + this.#slotsAhead(now));
      this.#usedSinceReserving = 0;
      const nowMs = now + this.#storeMs;
      const reservation = await this.#store.reserve({
        ...{ count, intervalMs: this.#intervalMs, nowMs, trialMs: this.#trialMs },
      });
      this.#storeMs = Math.min(maxStoreMs, Math.max(0, this.#clock.now() - now));
      this.#view.update(reservation.state, now);
      if (isTrial(reservation)) this.#startTrial(reservation);
      else this.#reserved.add(reservation.firstSlotMs, reservation.granted);
    });
  }

  /** Asks the store, one question at a time. When it fails, all requests that wait are refused. */
  async #ask(question: (now: number) => Promise<void>): Promise<void> {
    if (this.#isAsking) return;
    this.#isAsking = true;
    try {
      await question(this.#clock.now());
    } catch (error) {
      const fault = unreachable(error);
      this.#refuseAll(() => fault);
    } finally {
      this.#isAsking = false;
    }
    this.#serve();
  }

  /** The store lets one request through as a trial after the circuit breaker's pause; all others wait for its outcome. */
  #startTrial({ firstSlotMs }: Reservation): void {
    this.#refuseHeldBack(this.#clock.now());
    const trial = this.#waiters.shift();
    if (trial) void this.#sleepUntil(firstSlotMs).then(trial.start);
  }

  /** The second request of a trial is let through as the first one was, while all others go on waiting. */
  async #followTrial(resource: string, deadlineMs: number): Promise<void> {
    this.#undecidedTrial = undefined;
    const request = { count: 1, intervalMs: this.#intervalMs, trialMs: this.#trialMs, followsTrial: true };
    const asked = this.#store.reserve({ ...request, nowMs: this.#clock.now() });
    const { granted, firstSlotMs, state } = await asked.catch((error: unknown) =>
      Promise.reject(unreachable(error)),
    );
    this.#view.update(state);
    const now = this.#clock.now();
    const pause = operatorPauseOf(this.#view, now);
    if (pause) throw operatorPausedFault(undefined, pause, now);
    if (granted === 0) throw this.#pausedByService({ resource });
    if (firstSlotMs > deadlineMs) throw this.#tooLate({ resource }, firstSlotMs);
    await this.#sleepUntil(firstSlotMs);
  }

  #sleepUntil(ms: number): Promise<unknown> {
    return this.#clock.sleep(Math.max(0, ms - this.#clock.now()));
  }

  #pausedByService({ resource }: Pick<Waiter, 'resource'>): PartnerError {
    return this.#paused(resource, this.#view.pausedUntilMs, 'the service asked for a pause');
  }

  #tooLate({ resource }: Pick<Waiter, 'resource'>, slotMs: number): PartnerError {
    return this.#paused(resource, slotMs, 'the rate budget has no slot before the deadline');
  }

  #paused(resource: string, untilMs: number, why: string): PartnerError {
    return new PartnerError('paused', `not sent (${resource}): ${why}`, {
      retryAfterMs: Math.max(1, Math.ceil(untilMs - this.#clock.now())),
    });
  }
}

const isTrial = ({ granted, state }: Reservation): boolean =>
  granted === 1 && state.pauseReason === 'circuit';

const unreachable = (error: unknown) =>
  new PartnerError('transient', `the rate budget cannot be reached: ${asPartnerError(error).message}`, {
    cause: error,
  });

/** Lets each request wait for its slot of the shared rate budget; slot-supply.ts explains how the rate is kept. */
import { type Clock, systemClock } from '../../domain/clock.ts';
import type { PartnerError } from '../../domain/faults.ts';
import { operatorPausedFault, operatorPauseOf } from '../../domain/operator-pause.ts';
import type { BudgetStore } from '../../ports/budget-store.ts';
import type { Observer } from '../../ports/observer.ts';
import { BudgetView } from './budget-view.ts';
import { Feedback } from './feedback.ts';
import { noSlotFault, pausedByServiceFault, unreachableFault } from './limiter-faults.ts';
import { SlotSupply } from './slot-supply.ts';
import { SlotTimer } from './slot-timer.ts';

export interface RateLimiterOptions {
  readonly store: BudgetStore;
  /** Request rate of the whole bridge. */
  readonly maxRequestsPerSecond: number;
  /** How long the circuit breaker stays open after the service has blocked this address; nothing is sent meanwhile. */
  readonly circuitSeconds: number;
  readonly clock?: Clock;
  readonly random?: () => number;
  readonly observer?: Observer;
  /** How long all other requests wait for the result of a trial. Default 30,000. */
  readonly trialMs?: number;
}

export interface RateLimiter {
  /**
   * Resolves when the request may start; the caller must then send it at once.
   *
   * @param isForTokens whether this is a token request, which is sent even during an operator's pause. Default false
   * @throws {PartnerError} `paused`, with `retryAfterMs`: the service asked for a pause, or there is no slot before
   * `deadlineMs`; `operator-paused`: an operator has paused the whole bridge; `transient` when the store cannot be reached
   */
  enter(resource: string, deadlineMs: number, isForTokens?: boolean): Promise<void>;
  /**
   * Evaluates the service's answer. A pause that it asks for applies to the whole bridge.
   *
   * @param fault undefined after a success
   * @param startedAtMs when the request was sent
   * @param isUndecided the fault may be caused only by the request's cursor and says nothing about the address. The
   * caller then sends a request with the same name without the cursor, and that one decides. Default false
   * @returns undefined if other processes need not know the result; otherwise a promise that resolves when they can see
   * it
   */
  answered(
    resource: string,
    fault: PartnerError | undefined,
    startedAtMs: number,
    isUndecided?: boolean,
  ): Promise<void> | undefined;
}

interface Waiter {
  readonly resource: string;
  readonly deadlineMs: number;
  readonly isForTokens: boolean;
  readonly start: () => void;
  readonly refuse: (fault: PartnerError) => void;
}

/** Creates the rate limiter; one per process and budget. */
export function createRateLimiter(options: RateLimiterOptions): RateLimiter {
  return new SharedRateLimiter(options);
}

class SharedRateLimiter implements RateLimiter {
  readonly #store: BudgetStore;
  readonly #clock: Clock;
  readonly #view: BudgetView;
  readonly #slots: SlotSupply;
  readonly #timer: SlotTimer;
  readonly #feedback: Feedback;
  readonly #waiters: Waiter[] = [];
  /** Shared by all requests that start immediately, which is nearly every request. */
  readonly #started = Promise.resolve();
  #isServing = false;
  #isAsking = false;
  /** Resource of a trial whose answer was undecided: the next request for it decides. */
  #undecidedTrial: string | undefined;

  constructor(options: RateLimiterOptions) {
    const { store, maxRequestsPerSecond, circuitSeconds, observer, trialMs = 30_000 } = options;
    const { clock = systemClock, random = Math.random } = options;
    const view = new BudgetView(clock);
    this.#store = store;
    this.#clock = clock;
    this.#view = view;
    this.#slots = new SlotSupply({ store, view, clock, maxRequestsPerSecond, trialMs });
    this.#timer = new SlotTimer(clock, () => this.#serve());
    this.#feedback = new Feedback({ store, view, clock, random, circuitSeconds, observer });
  }

  enter(resource: string, deadlineMs: number, isForTokens = false): Promise<void> {
    const now = this.#clock.now();
    if (this.#undecidedTrial === resource) return this.#followTrial(resource, deadlineMs);
    const isPaused = this.#view.pausedUntilMs > now;
    const isHeldBack = !isForTokens && operatorPauseOf(this.#view, now) !== undefined;
    if (isPaused && !isHeldBack && this.#view.isFresh(now))
      return Promise.reject(this.#pausedByService(resource, now));
    if (!isPaused && !isHeldBack && this.#waiters.length === 0 && this.#startsAtOnce(now)) {
      if (this.#slots.isLow(now)) this.#reserve();
      return this.#started;
    }
    return new Promise((start, refuse) => {
      this.#waiters.push({ resource, deadlineMs, isForTokens, start, refuse });
      if (this.#isServing) return;
      this.#isServing = true;
      // Deferred, so that all requests of this turn of the event loop share one reservation.
      queueMicrotask(() => this.#serve());
    });
  }

  answered(...[resource, fault, startedAtMs, isUndecided]: Parameters<RateLimiter['answered']>) {
    // Planted fault: cursor-403-counted
    if (!isUndecided) return this.#feedback.answered(resource, fault, startedAtMs);
    if (this.#view.circuit && startedAtMs >= this.#view.circuitSinceMs) this.#undecidedTrial = resource;
    return undefined;
  }

  #startsAtOnce(now: number): boolean {
    return this.#view.isFresh(now) && this.#slots.takeNow(now);
  }

  /** Starts requests whose slot has come, refuses requests whose deadline is too near, and reserves slots for the others. */
  #serve(): void {
    const now = this.#clock.now();
    this.#isServing = false;
    const isFresh = this.#view.isFresh(now);
    const isPaused = this.#view.pausedUntilMs > now;
    const holdsBack =
      operatorPauseOf(this.#view, now) && this.#waiters.some(({ isForTokens }) => !isForTokens);
    // An operator may have ended the pause early.
    if ((isPaused || holdsBack) && this.#waiters.length > 0 && !isFresh) {
      this.#look();
      return;
    }
    this.#refuseHeldBack(now);
    if (isPaused) {
      this.#refuse(({ resource }) => this.#pausedByService(resource, now));
      return;
    }
    this.#slots.dropLate(now);
    // A request that cannot get a slot before its deadline must not take one from the others.
    this.#refuse(({ resource, deadlineMs }, place) => {
      const slotMs = this.#slots.at(place, now);
      return slotMs > deadlineMs ? noSlotFault(resource, slotMs - now) : undefined;
    });
    if (this.#waiters.length === 0) return;
    if (this.#slots.count > 0 && !isFresh) {
      this.#look();
      return;
    }
    while (this.#waiters.length > 0 && this.#startsAtOnce(now)) this.#waiters.shift()?.start();
    if (this.#slots.count < this.#waiters.length) this.#reserve();
    const { next } = this.#slots;
    if (this.#waiters.length > 0 && next !== undefined) this.#timer.set(next, now);
  }

  /** Refuses requests that wait in vain; the others keep their order. */
  #refuse(faultOf: (waiter: Waiter, place: number) => PartnerError | undefined): void {
    for (const waiter of this.#waiters.splice(0)) {
      const fault = faultOf(waiter, this.#waiters.length);
      if (fault) waiter.refuse(fault);
      else this.#waiters.push(waiter);
    }
  }

  /** During an operator's pause, only token requests continue to wait for their slots. */
  #refuseHeldBack(now: number): void {
    const pause = operatorPauseOf(this.#view, now);
    if (!pause) return;
    this.#refuse(({ isForTokens }) => {
      // Planted fault: tokens-held-back
      return isForTokens ? undefined : operatorPausedFault(undefined, pause, now);
    });
  }

  #look(): void {
    void this.#ask(async (now) => this.#view.update(await this.#store.read(), now));
  }

  #reserve(): void {
    void this.#ask(async (now) => {
      const { isTrial, firstSlotMs } = await this.#slots.reserve(this.#waiters.length, now);
      if (isTrial) this.#startTrial(firstSlotMs);
    });
  }

  /** Calls the store, one call at a time. If a call fails, all waiting requests are refused. */
  async #ask(question: (now: number) => Promise<void>): Promise<void> {
    if (this.#isAsking) return;
    this.#isAsking = true;
    try {
      await question(this.#clock.now());
    } catch (error) {
      const fault = unreachableFault(error);
      this.#refuse(() => fault);
    } finally {
      this.#isAsking = false;
    }
    this.#serve();
  }

  /** After the circuit breaker's pause, the store gives a slot to one request as a trial; all others wait for its result. */
  #startTrial(slotMs: number): void {
    this.#refuseHeldBack(this.#clock.now());
    const trial = this.#waiters.shift();
    if (trial) void this.#sleepUntil(slotMs).then(trial.start);
  }

  /** The second request of a trial gets a slot like the first one, while all others continue to wait. */
  async #followTrial(resource: string, deadlineMs: number): Promise<void> {
    this.#undecidedTrial = undefined;
    const { granted, firstSlotMs } = await this.#slots
      .followTrial()
      .catch((error: unknown) => Promise.reject(unreachableFault(error)));
    const now = this.#clock.now();
    const pause = operatorPauseOf(this.#view, now);
    if (pause) throw operatorPausedFault(undefined, pause, now);
    if (granted === 0) throw this.#pausedByService(resource, now);
    if (firstSlotMs > deadlineMs) throw noSlotFault(resource, firstSlotMs - now);
    await this.#sleepUntil(firstSlotMs);
  }

  #sleepUntil(ms: number): Promise<unknown> {
    return this.#clock.sleep(Math.max(0, ms - this.#clock.now()));
  }

  #pausedByService(resource: string, now: number): PartnerError {
    return pausedByServiceFault(resource, this.#view.pausedUntilMs - now);
  }
}

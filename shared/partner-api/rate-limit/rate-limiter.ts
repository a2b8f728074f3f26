/** Has each request wait for its slot of the shared rate budget: see slot-supply.ts for how the rate is kept. */
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
  readonly #view: BudgetView;
  readonly #slots: SlotSupply;
  readonly #timer: SlotTimer;
  readonly #feedback: Feedback;
  readonly #waiters: Waiter[] = [];
  /** One for all that start at once: nearly every request does. */
  readonly #started = Promise.resolve();
  #isServing = false;
  #isAsking = false;
  /** Resource of a trial whose answer has decided nothing: the next request for it does. */
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

  #startsAtOnce(now: number): boolean {
    return this.#view.isFresh(now) && this.#slots.takeNow(now);
  }

  /** Starts requests whose slot has come, refuses those whose deadline is too near, and gets slots for the others. */
  #serve(): void {
    const now = this.#clock.now();
    this.#isServing = false;
    const isFresh = this.#view.isFresh(now);
    const isPaused = this.#view.pausedUntilMs > now;
    const holdsBack =
      operatorPauseOf(this.#view, now) && this.#waiters.some(({ isForTokens }) => !isForTokens);
    // The pause may have been ended early.
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
    // A waiter that cannot have a slot before its deadline takes none from those that can.
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

  /** Refuses those that wait in vain; the others keep their order. */
  #refuse(faultOf: (waiter: Waiter, place: number) => PartnerError | undefined): void {
    for (const waiter of this.#waiters.splice(0)) {
      const fault = faultOf(waiter, this.#waiters.length);
      if (fault) waiter.refuse(fault);
      else this.#waiters.push(waiter);
    }
  }

  /** An operator has paused the bridge: requests for tokens alone go on waiting for their turn. */
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

  /** Asks the store, one question at a time. When it fails, all requests that wait are refused. */
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

  /** The store lets one request through as a trial after the circuit breaker's pause; all others wait for its outcome. */
  #startTrial(slotMs: number): void {
    this.#refuseHeldBack(this.#clock.now());
    const trial = this.#waiters.shift();
    if (trial) void this.#sleepUntil(slotMs).then(trial.start);
  }

  /** The second request of a trial is let through as the first one was, while all others go on waiting. */
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

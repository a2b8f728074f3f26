/**
 * Lets each request wait for its slot of the shared rate budget. Slots are reserved in one conditional write for all
 * requests that wait. A slot is used within `lateMs` of its time, or lost. Slots are 5 % further apart than the rate
 * requires, so that no window of one second contains more requests than the rate, from whichever functions they come.
 * This requires `1000 + lateMs + earlyMs < 1000 * spread`.
 */
import { type Clock, isYoung, systemClock } from '../../domain/clock.ts';
import { asPartnerError, PartnerError } from '../../domain/faults.ts';
import { heldBy, heldFault } from '../../domain/holds.ts';
import { type BudgetState, freeSlotMs, freshBudget, reserveSlots, waitOf } from '../../domain/rate-budget.ts';
import type { Observer } from '../../ports/observer.ts';
import type { BudgetStore } from '../../state/budget.ts';

export interface RateLimiterOptions {
  readonly store: BudgetStore;
  /** Request rate of the whole bridge. */
  readonly maxRequestsPerSecond: number;
  readonly clock?: Clock;
  readonly observer?: Observer;
  /** When aborted, no new request begins, so that a hanging service does not delay the end of the bridge. Default: never. */
  readonly stopped?: AbortSignal | undefined;
}

export interface RateLimiter {
  /**
   * Resolves when the request may start, with the moment until which it may be sent, ms since 1970. A later one needs
   * another slot.
   *
   * @param isForTokens whether this is a token request, which is sent even during an operator's pause. Default false
   * @throws {PartnerError} `paused`, with `retryAfterMs`: the bridge is on hold, or there is no slot before `deadlineMs`;
   * `operator-paused`: an operator has paused the whole bridge; `transient` when the store cannot be reached
   */
  enter(resource: string, deadlineMs: number, isForTokens?: boolean): Promise<number>;
  /** The resource of the request that this process sends to try the service after a hold of the bridge. */
  readonly trial: string | undefined;
  /** `connected` of the shared state, as this process knows it. */
  readonly connected: number | undefined;
  /** Ends the trial: its answer has decided. */
  trialEnded(): void;
  /** Applies a change of the bridge's holds here at once, and stores it for the other processes. Never rejects. */
  change(rule: (state: BudgetState) => BudgetState): Promise<void>;
}

interface Asking {
  readonly resource: string;
  readonly deadlineMs: number;
  readonly isForTokens: boolean;
}

interface Waiter extends Asking {
  readonly start: (untilMs: number) => void;
  readonly refuse: (fault: PartnerError) => void;
}

const spread = 1.05;
/** Leaves about 9 ms for network delays that bring requests closer together. */
const lateMs = 40;
/** The resolution of timers. */
const earlyMs = 1;
/** A longer delay of the store or of a timer means that the process was stalled, which does not predict the next delay. */
const maxDelayMs = 500;
/**
 * Maximum time until this process learns of a hold that another function has made, even while it has reserved slots. If
 * requests wait longer than this for their slots, it costs a read of the store.
 */
const stateMaxAgeMs = 1_000;

const delayOf = (ms: number): number => Math.min(maxDelayMs, Math.max(0, ms));

/** Creates the rate limiter; one per process and budget. */
export function createRateLimiter(options: RateLimiterOptions): RateLimiter {
  return new SharedRateLimiter(options);
}

class SharedRateLimiter implements RateLimiter {
  readonly #lateMs: number;
  readonly #store: BudgetStore;
  readonly #clock: Clock;
  readonly #observer: Observer | undefined;
  readonly #stopped: AbortSignal | undefined;
  readonly #intervalMs: number;
  readonly #waiters: Waiter[] = [];
  #isServing = false;
  /** The shared budget at its last read or write by this process. */
  #state: BudgetState = freshBudget;
  #stateAtMs = Number.NEGATIVE_INFINITY;
  /** Number of times that this process has changed a hold: a read that began before does not contain it. */
  #changes = 0;
  /** Reserved slots that are not used yet: the first one and their number. */
  #firstSlotMs = 0;
  #slots = 0;
  #usedSinceReserving = 0;
  /** Duration of the last reservation. Slots are reserved from that much later on; otherwise they would already be late. */
  #storeMs = 0;
  /** Delay of the last timer. On a busy machine every timer is late; set earlier by this, it does not miss each slot. */
  #timerMs = 0;
  /** How far this process's clock is from the one by which slots are given. */
  #offsetMs = 0;
  #trial: string | undefined;

  constructor({ store, maxRequestsPerSecond, clock = systemClock, ...options }: RateLimiterOptions) {
    this.#store = store;
    this.#clock = clock;
    this.#observer = options.observer;
    this.#stopped = options.stopped;
    this.#intervalMs = (1000 / maxRequestsPerSecond) * spread;
    // At low rates the slots are further apart.
    this.#lateMs = lateMs * Math.max(1, 1 / maxRequestsPerSecond);
  }

  get trial(): string | undefined {
    return this.#trial;
  }

  get connected(): number | undefined {
    return this.#state.connected;
  }

  trialEnded(): void {
    this.#trial = undefined;
  }

  enter(resource: string, deadlineMs: number, isForTokens = false): Promise<number> {
    const now = this.#now();
    const waiter = { resource, deadlineMs, isForTokens };
    if (this.#isFresh() && this.#trial !== resource) {
      const fault = this.#refusal(waiter, this.#waiters.length, now);
      if (fault) return Promise.reject(fault);
      const untilMs = this.#waiters.length === 0 ? this.#takeSlot(now) : undefined;
      if (untilMs !== undefined) return Promise.resolve(untilMs);
    }
    return new Promise((start, refuse) => {
      this.#waiters.push({ ...waiter, start, refuse });
      if (this.#isServing) return;
      this.#isServing = true;
      // Deferred, so that all requests of this turn of the event loop share one reservation.
      queueMicrotask(() => void this.#serve());
    });
  }

  async change(rule: (state: BudgetState) => BudgetState): Promise<void> {
    this.#changes += 1;
    this.#state = rule(this.#state);
    try {
      // Planted fault: pause-not-shared
      const { state } = await this.#store.change((stored) => ({ state: rule(stored) }));
      this.#changes += 1;
      this.#state = state;
    } catch (error) {
      this.#observer?.warn('a hold of the bridge could not be stored: other functions may go on sending', {
        error,
      });
    }
  }

  /** The time of the clock by which slots are given. */
  #now(): number {
    return this.#clock.now() + this.#offsetMs;
  }

  /** Whether what this process knows of the budget is recent enough. */
  #isFresh(): boolean {
    return isYoung(this.#stateAtMs, this.#clock.now(), stateMaxAgeMs);
  }

  /** Starts requests when their slots have come, until none waits. If the store cannot be reached, all are refused. */
  async #serve(): Promise<void> {
    try {
      while (this.#waiters.length > 0) await this.#serveNext();
    } catch (error) {
      const message = `the rate budget cannot be reached: ${asPartnerError(error).message}`;
      const fault = new PartnerError('transient', message, { cause: error });
      for (const { refuse } of this.#waiters.splice(0)) refuse(fault);
    } finally {
      this.#isServing = false;
    }
  }

  async #serveNext(): Promise<void> {
    this.#dropLate(this.#now());
    // During a hold that may have ended early, and before a slot that was reserved long ago.
    if (!this.#isFresh() && (this.#slots > 0 || this.#state.holds)) await this.#look();
    const now = this.#now();
    this.#refuse((waiter, place) => this.#refusal(waiter, place, now));
    while (this.#waiters.length > 0) {
      const untilMs = this.#takeSlot(now);
      if (untilMs === undefined) break;
      this.#waiters.shift()?.start(untilMs);
    }
    if (this.#waiters.length === 0) return;
    if (this.#slots === 0) return this.#reserve();
    const sleepMs = Math.max(earlyMs, this.#firstSlotMs - now - this.#timerMs);
    await this.#clock.sleep(sleepMs);
    this.#timerMs = delayOf(this.#now() - now - sleepMs - earlyMs);
  }

  /** Refuses requests that wait in vain; the others keep their order. */
  #refuse(faultOf: (waiter: Waiter, place: number) => PartnerError | undefined): void {
    for (const waiter of this.#waiters.splice(0)) {
      const fault = faultOf(waiter, this.#waiters.length);
      if (fault) waiter.refuse(fault);
      else this.#waiters.push(waiter);
    }
  }

  /** During an operator's hold, only token requests are sent. */
  #heldBack({ isForTokens }: Asking): PartnerError | undefined {
    const now = this.#clock.now();
    const hold = heldBy(this.#state, 'operator', now);
    // Planted fault: tokens-held-back
    return hold && !isForTokens ? heldFault(hold, undefined, now) : undefined;
  }

  /**
   * Why a request cannot be sent now, or in time; undefined if it can.
   *
   * @param place number of requests that wait before it
   */
  #refusal(waiter: Asking, place: number, now: number): PartnerError | undefined {
    const { resource, deadlineMs } = waiter;
    const clockMs = this.#clock.now();
    const heldBack = this.#heldBack(waiter);
    if (heldBack) return heldBack;
    if (this.#stopped?.aborted) return notSent(resource, 'the bridge is stopping', 0);
    const waiting = this.#trial === resource ? undefined : waitOf(this.#state, resource, clockMs);
    if (waiting)
      return notSent(resource, waiting.hold.reason ?? waiting.hold.kind, waiting.untilMs - clockMs);
    const firstMs = place < this.#slots ? this.#firstSlotMs : freeSlotMs(this.#state, now);
    const before = place < this.#slots ? place : place - this.#slots;
    const waitMs = firstMs + before * this.#intervalMs - now;
    if (clockMs + waitMs <= deadlineMs) return undefined;
    return notSent(resource, 'the rate budget has no slot before the deadline', waitMs);
  }

  /** Uses a slot whose time has come. @returns until when it may be used; undefined: there is none */
  #takeSlot(now: number): number | undefined {
    this.#dropLate(now);
    if (this.#slots === 0 || this.#firstSlotMs > now + earlyMs) return undefined;
    const untilMs = this.#firstSlotMs + this.#lateMs - this.#offsetMs;
    this.#useSlots(1);
    this.#usedSinceReserving += 1;
    return untilMs;
  }

  #dropLate(now: number): void {
    const late = Math.ceil((now - lateMs - this.#firstSlotMs) / this.#intervalMs);
    if (late > 0) this.#useSlots(Math.min(late, this.#slots));
  }

  #useSlots(count: number): void {
    this.#firstSlotMs += count * this.#intervalMs;
    this.#slots -= count;
  }

  async #look(): Promise<void> {
    const changes = this.#changes;
    this.#update(await this.#store.read(), changes);
  }

  /** Takes over the stored state, including an early end of a hold. */
  #update(state: BudgetState, changes: number): void {
    const { holds: _stored, ...rest } = state;
    const { holds } = this.#state;
    // Planted fault: pause-unseen-by-warm-process
    this.#state = changes === this.#changes ? state : { ...rest, ...(holds && { holds }) };
    this.#stateAtMs = this.#clock.now();
  }

  async #reserve(): Promise<void> {
    const askedAtMs = this.#clock.now();
    const changes = this.#changes;
    const follower = this.#waiters.find(({ resource }) => resource === this.#trial);
    const [first] = this.#waiters;
    const request = {
      count: this.#batch(),
      intervalMs: this.#intervalMs,
      offsetMs: this.#offsetMs,
      lastClockMs: this.#state.clockMs,
      resource: (follower ?? first)?.resource ?? '',
      followsTrial: follower !== undefined,
    };
    // If the trial cannot go on, its request waits like all others.
    if (follower) this.#trial = undefined;
    const reservation = await this.#store.change((state) =>
      // Not the time of an earlier attempt: the process may have stood still in between.
      reserveSlots(state, { ...request, nowMs: this.#clock.now() + this.#storeMs }),
    );
    const { granted, firstSlotMs, state, isTrial, offsetMs } = reservation;
    this.#usedSinceReserving = 0;
    this.#offsetMs = offsetMs;
    this.#storeMs = delayOf(this.#clock.now() - askedAtMs);
    this.#update(state, changes);
    if (isTrial) return this.#startTrial(follower ?? first, firstSlotMs);
    this.#firstSlotMs = firstSlotMs;
    this.#slots = granted;
  }

  /**
   * For all that wait, but for at most a second, so that a pause is noticed. At high rates also for requests to come, so
   * that they need not wait for the store; where slots are scarce none, because an unused slot is lost.
   */
  #batch(): number {
    const most = Math.max(1, Math.ceil(1000 / this.#intervalMs));
    const isScarce = freeSlotMs(this.#state, this.#now()) > this.#now() + earlyMs;
    const ahead = isScarce
      ? 0
      : Math.min(2 * this.#usedSinceReserving, Math.floor(lateMs / this.#intervalMs));
    return Math.min(most, this.#waiters.length + ahead);
  }

  /** The slot is for one request only; all others wait for its result. */
  #startTrial(trial: Waiter | undefined, slotMs: number): void {
    this.#refuse((waiter) => this.#heldBack(waiter));
    if (!trial || !this.#waiters.includes(trial)) return;
    this.#waiters.splice(this.#waiters.indexOf(trial), 1);
    this.#trial = trial.resource;
    const untilMs = slotMs + this.#lateMs - this.#offsetMs;
    const waitMs = slotMs - this.#now();
    if (waitMs <= 0) trial.start(untilMs);
    else void this.#clock.sleep(waitMs).then(() => trial.start(untilMs));
  }
}

const notSent = (resource: string, why: string, waitMs: number) =>
  new PartnerError('paused', `not sent (${resource}): ${why}`, {
    retryAfterMs: Math.max(1, Math.ceil(waitMs)),
  });

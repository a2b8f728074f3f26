import { metrics } from '../../contract/names.ts';
import { backoffMs } from '../../domain/backoff.ts';
import type { Clock } from '../../domain/clock.ts';
import type { FaultKind, PartnerError } from '../../domain/faults.ts';
import {
  type BudgetState,
  freshBudget,
  type PauseReason,
  paused,
  recovered,
} from '../../domain/rate-budget.ts';
import type { Observer } from '../../ports/observer.ts';
import type { BudgetStore } from '../../state/budget.ts';

export interface FeedbackDeps {
  readonly store: BudgetStore;
  readonly clock: Clock;
  readonly random: () => number;
  readonly circuitSeconds: number;
  readonly observer?: Observer;
}

/** Pause after a 429 without Retry-After: one second, doubled for each 429 that follows the pause, at most a minute. */
const rateLimitedBackoff = { baseMs: 1_000, capMs: 60_000 };

/**
 * Faults that only the service itself can report, so the address is not blocked. The list does not contain faults that
 * a block, a proxy or a broken service may cause.
 */
const judgedByService: ReadonlySet<FaultKind> = new Set<FaultKind>([
  'token-rejected',
  'scope-insufficient',
  'invalid-request',
  'request-refused',
  'not-found',
  'grant-rejected',
  'client-rejected',
  'scope-refused',
]);

/**
 * Applies an answer to the whole bridge: a pause that the service asks for, or the circuit breaker against an address
 * block.
 */
export class Feedback {
  readonly #deps: FeedbackDeps;
  #state: BudgetState = freshBudget;
  /** When this process learned that the circuit is open, and of the suspected resource. */
  #openedAtMs = 0;
  #suspectedAtMs = 0;
  /** Number of consecutive 429 answers without a time. */
  #rateLimitedInARow = 0;
  /** When this process last met a pause. */
  #pausedAtMs = 0;
  #lastSuspicion: Promise<void> = Promise.resolve();

  constructor(deps: FeedbackDeps) {
    this.#deps = deps;
  }

  /** The shared budget at its last read or write by this process, with the pauses that this process has met since. */
  get state(): BudgetState {
    return this.#state;
  }

  /**
   * Takes over the stored state, including an early end of a pause.
   *
   * @param askedAtMs when it was read: it does not contain a pause that this process has met since
   */
  update(stored: BudgetState, askedAtMs: number): void {
    const { pausedUntilMs, pauseReason } = this.#state;
    // Planted fault: pause-unseen-by-warm-process
    const state =
      askedAtMs <= this.#pausedAtMs && pauseReason ? paused(stored, pausedUntilMs, pauseReason) : stored;
    const now = this.#deps.clock.now();
    if (state.pauseReason === 'circuit' && pauseReason !== 'circuit') this.#openedAtMs = now;
    if (state.suspect !== this.#state.suspect) this.#suspectedAtMs = now;
    this.#state = state;
  }

  /** Whether the circuit is open, and a request was sent after it had opened: as a trial. */
  isTrial(startedAtMs: number): boolean {
    return this.#state.pauseReason === 'circuit' && startedAtMs >= this.#openedAtMs;
  }

  /**
   * Evaluates an answer.
   *
   * @param startedAtMs when its request was sent
   * @returns undefined if other processes need not know the result, which is nearly always so; otherwise a promise that
   * resolves when they can see it
   */
  answered(
    resource: string,
    fault: PartnerError | undefined,
    startedAtMs: number,
  ): Promise<void> | undefined {
    if (!fault || judgedByService.has(fault.code)) return this.#letIn(startedAtMs);
    if (fault.code === 'forbidden') return this.#forbidden(resource, startedAtMs);
    const asksToWait = fault.code === 'transient' && fault.retryAfterMs !== undefined;
    if (fault.code === 'rate-limited' || asksToWait) return this.#rateLimited(resource, fault, startedAtMs);
    return undefined;
  }

  #letIn(startedAtMs: number): Promise<void> | undefined {
    const { pauseReason, suspect } = this.#state;
    if (startedAtMs >= this.#pausedAtMs) this.#rateLimitedInARow = 0;
    const isOpen = pauseReason === 'circuit';
    const isCleared = isOpen ? this.isTrial(startedAtMs) : startedAtMs >= this.#suspectedAtMs;
    if (!isCleared || (!isOpen && suspect === undefined)) return undefined;
    this.#state = recovered(this.#state);
    return this.#stored(this.#deps.store.recover());
  }

  #rateLimited(resource: string, fault: PartnerError, startedAtMs: number): Promise<void> | undefined {
    const { clock, random, observer } = this.#deps;
    const { retryAfterMs, askedToWaitMs } = fault;
    if (retryAfterMs !== undefined) {
      if (askedToWaitMs !== undefined && startedAtMs >= this.#pausedAtMs) {
        observer?.count(metrics.pauseCapped, 1);
        observer?.warn(
          'the service asked for a longer pause than maxPauseSeconds: the bridge asks again earlier',
          {
            resource,
            askedSeconds: askedToWaitMs / 1000,
            maxPauseSeconds: retryAfterMs / 1000,
          },
        );
      }
      return this.#pause(clock.now() + retryAfterMs, 'rate-limited');
    }
    // Requests that were in flight when the pause began give no new information.
    if (startedAtMs < this.#pausedAtMs) return undefined;
    this.#rateLimitedInARow += 1;
    const maxMs = backoffMs(this.#rateLimitedInARow, { ...rateLimitedBackoff, random: () => 1 });
    return this.#pause(clock.now() + maxMs / 2 + (random() * maxMs) / 2, 'rate-limited');
  }

  #forbidden(resource: string, startedAtMs: number): Promise<void> | undefined {
    // Either the trial failed, or the request was in flight when the circuit breaker opened and gives no new
    // information.
    if (this.#state.pauseReason === 'circuit')
      return this.isTrial(startedAtMs) ? this.#openCircuit(resource) : undefined;
    if (this.#state.suspect === resource) return undefined;
    // In sequence, so that the second of two simultaneous answers sees the first.
    this.#lastSuspicion = this.#lastSuspicion.then(() => this.#suspect(resource));
    return this.#lastSuspicion;
  }

  #suspect(resource: string): Promise<void> | undefined {
    const { store, clock } = this.#deps;
    if (this.#state.pauseReason === 'circuit' || this.#state.suspect === resource) return undefined;
    const askedAtMs = clock.now();
    return this.#stored(
      store.suspect(resource).then((before) => {
        this.update({ ...before, suspect: resource }, askedAtMs);
        // Planted fault: one-403-opens-circuit
        const differs = before.suspect !== undefined && before.suspect !== resource;
        return differs && before.pauseReason !== 'circuit' ? this.#openCircuit(resource) : undefined;
      }),
    );
  }

  #openCircuit(resource: string): Promise<void> | undefined {
    const { clock, circuitSeconds, observer } = this.#deps;
    this.#openedAtMs = clock.now();
    observer?.count(metrics.circuitOpened, 1);
    observer?.error('the service answers 403 to different requests: nothing is sent for circuitSeconds', {
      resource,
      circuitSeconds,
    });
    return this.#pause(clock.now() + circuitSeconds * 1000, 'circuit');
  }

  /** A pause applies in this process at once, and in the others when it is stored. */
  #pause(untilMs: number, reason: PauseReason): Promise<void> | undefined {
    const { store, clock } = this.#deps;
    this.#pausedAtMs = clock.now();
    const state = paused(this.#state, untilMs, reason);
    if (state === this.#state && reason === 'rate-limited') return undefined;
    this.#state = state;
    // Planted fault: pause-not-shared
    return this.#stored(store.pause(untilMs, reason));
  }

  #stored(writing: Promise<unknown>): Promise<void> {
    return writing.then(
      () => undefined,
      (error: unknown) => {
        this.#deps.observer?.warn(
          'the shared rate budget could not be updated: other functions may go on sending',
          { error },
        );
      },
    );
  }
}

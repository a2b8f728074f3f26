import { metrics } from '../../contract/names.ts';
import { backoffMs } from '../../domain/backoff.ts';
import type { Clock } from '../../domain/clock.ts';
import type { FaultKind, PartnerError } from '../../domain/faults.ts';
import type { PauseReason } from '../../domain/rate-budget.ts';
import type { BudgetStore } from '../../ports/budget-store.ts';
import type { Observer } from '../../ports/observer.ts';
import type { BudgetView } from './budget-view.ts';

export interface FeedbackDeps {
  readonly store: BudgetStore;
  readonly view: BudgetView;
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
  /** Number of consecutive 429 answers without a time. */
  #rateLimitedInARow = 0;
  #pausedAtMs = 0;
  #lastSuspicion: Promise<void> = Promise.resolve();

  constructor(deps: FeedbackDeps) {
    this.#deps = deps;
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
    const { view, store } = this.#deps;
    if (startedAtMs >= this.#pausedAtMs) this.#rateLimitedInARow = 0;
    const endsCircuit = view.circuit && startedAtMs >= view.circuitSinceMs;
    const endsSuspicion = view.suspect !== undefined && startedAtMs >= view.suspectSinceMs;
    if (!endsCircuit && (view.circuit || !endsSuspicion)) return undefined;
    if (endsCircuit) view.pausedUntilMs = 0;
    view.circuit = false;
    view.suspect = undefined;
    return this.#told(store.recover());
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
    const { view, store } = this.#deps;
    // Either the trial failed, or the request was in flight when the circuit breaker opened and gives no new
    // information.
    if (view.circuit) return startedAtMs >= view.circuitSinceMs ? this.#openCircuit(resource) : undefined;
    if (view.suspect === resource) return undefined;
    // In sequence, so that the second of two simultaneous answers sees the first.
    this.#lastSuspicion = this.#lastSuspicion.then(async () => {
      if (view.circuit || view.suspect === resource) return;
      await this.#told(
        store.suspect(resource).then((before) => {
          view.update({ ...before, suspect: resource });
          // Planted fault: one-403-opens-circuit
          const differs = before.suspect !== undefined && before.suspect !== resource;
          return differs && before.pauseReason !== 'circuit' ? this.#openCircuit(resource) : undefined;
        }),
      );
    });
    return this.#lastSuspicion;
  }

  #openCircuit(resource: string): Promise<void> | undefined {
    const { view, clock, circuitSeconds, observer } = this.#deps;
    view.circuit = true;
    view.circuitSinceMs = clock.now();
    observer?.count(metrics.circuitOpened, 1);
    observer?.error('the service answers 403 to different requests: nothing is sent for circuitSeconds', {
      resource,
      circuitSeconds,
    });
    return this.#pause(clock.now() + circuitSeconds * 1000, 'circuit');
  }

  #pause(untilMs: number, reason: PauseReason): Promise<void> | undefined {
    const { view, store, clock } = this.#deps;
    this.#pausedAtMs = clock.now();
    const untoldMs = view.untoldUntilMs();
    if (untilMs <= view.pausedUntilMs && reason === 'rate-limited' && untoldMs <= clock.now())
      return undefined;
    // An earlier pause may not have been stored.
    const longestMs = Math.max(untilMs, untoldMs);
    const note = view.noteOwnPause(longestMs);
    // Planted fault: pause-not-shared
    return this.#told(store.pause(longestMs, reason), note);
  }

  /** If a pause cannot be stored, it still applies in this process. */
  #told(telling: Promise<unknown>, note?: (isTold: boolean) => void): Promise<void> {
    return telling.then(
      () => note?.(true),
      (error: unknown) => {
        note?.(false);
        this.#deps.observer?.warn(
          'the shared rate budget could not be updated: other functions may go on sending',
          { error },
        );
      },
    );
  }
}

/**
 * One call: repeats attempts until the deadline. Each attempt takes a connection and a slot of the rate budget, and has
 * a time limit.
 */
import { type BackoffOptions, backoffMs } from '../domain/backoff.ts';
import type { Clock } from '../domain/clock.ts';
import { PartnerError } from '../domain/faults.ts';
import { type Asked, faultOfAnswer, faultOfSilence } from './errors/classify.ts';
import { createConnections } from './http/connections.ts';
import type { RetryPolicy } from './http/retry-policy.ts';
import { type Answer, NoAnswerError, type Transport, type WireRequest } from './http/transport.ts';
import type { RateLimiter } from './rate-limit/rate-limiter.ts';

export interface CallerDeps {
  readonly transport: Transport;
  readonly rateLimiter: RateLimiter;
  readonly clock: Clock;
  readonly random: () => number;
  readonly concurrency: number;
  readonly attemptTimeoutMs: number;
  /** The longest wait that the bridge accepts from the service. */
  readonly maxPauseMs: number;
}

export interface CallRequest extends Asked {
  readonly wire: WireRequest;
  /** Name of the requested resource for the rate limiter. */
  readonly resource: string;
  readonly deadlineMs: number;
  /**
   * Whether a fault may be caused only by the cursor. The rate limiter then waits for the result of the next request,
   * which has no cursor.
   */
  readonly isUndecided?: (fault: PartnerError) => boolean;
  /** Called when an attempt has its slot; see the client's options. */
  readonly beforeSend?: (() => Promise<unknown> | undefined) | undefined;
}

export interface Times {
  /** When the attempt was sent and when its answer was complete, by the bridge's clock. */
  readonly sentAt: number;
  readonly receivedAt: number;
}

export function createCaller(deps: CallerDeps) {
  const { transport, rateLimiter, clock, random, concurrency, attemptTimeoutMs, maxPauseMs } = deps;
  const connections = createConnections(concurrency);

  const outOfTime = ({ what }: CallRequest) =>
    new PartnerError('transient', `${what}: no time left, not sent`);

  /** A slot that cannot be used is lost, so that the rate is never exceeded. */
  async function turnOf({ resource, deadlineMs, endpoint, beforeSend }: CallRequest): Promise<void> {
    for (;;) {
      await rateLimiter.enter(resource, deadlineMs, endpoint === 'token');
      const wait = beforeSend?.();
      if (!wait) return;
      await wait;
    }
  }

  /**
   * Waits for a slot and sends. If the service had closed an idle socket, a GET takes another slot; this does not count
   * as an attempt.
   */
  async function exchange(request: CallRequest): Promise<{ answer: Answer; sentAt: number }> {
    for (let secondSocket = false; ; secondSocket = true) {
      await turnOf(request);
      const sentAt = clock.now();
      const leftMs = request.deadlineMs - sentAt;
      if (leftMs <= 0) throw outOfTime(request);
      try {
        const answer = await transport.send(request.wire, Math.min(leftMs, attemptTimeoutMs));
        return { answer, sentAt };
      } catch (error) {
        if (!(error instanceof NoAnswerError)) throw error;
        if (!error.wasStale || secondSocket) throw faultOfSilence(error, request);
      }
    }
  }

  async function attempt<T>(request: CallRequest, read: (answer: Answer, times: Times) => T): Promise<T> {
    const leftMs = request.deadlineMs - clock.now();
    if (leftMs <= 0) throw outOfTime(request);
    if (!connections.take() && !(await connections.wait(leftMs))) throw outOfTime(request);
    let exchanged: { answer: Answer; sentAt: number };
    try {
      exchanged = await exchange(request);
    } finally {
      connections.release();
    }
    const { answer, sentAt } = exchanged;
    const receivedAt = clock.now();
    const outcome = judge(answer, request, { sentAt, receivedAt }, read, maxPauseMs);
    const fault = outcome instanceof PartnerError ? outcome : undefined;
    const isUndecided = fault !== undefined && request.isUndecided?.(fault) === true;
    const noted = rateLimiter.answered(request.resource, fault, sentAt, isUndecided);
    // This is done before the caller gets the answer, because the Lambda function may be frozen right after that.
    if (noted) await noted;
    if (outcome instanceof PartnerError) throw outcome;
    return outcome;
  }

  /**
   * Repeats attempts until one succeeds, the retry policy allows no more, or the next one would be too late.
   *
   * @throws {PartnerError} the fault of the last attempt
   */
  return async function call<T>(
    request: CallRequest,
    policy: RetryPolicy,
    read: (answer: Answer, times: Times) => T,
  ): Promise<T> {
    for (let made = 1; ; made += 1) {
      try {
        return await attempt(request, read);
      } catch (error) {
        if (!(error instanceof PartnerError) || made >= policy.maxAttempts || !policy.covers(error))
          throw error;
        const waitMs = waitBefore(error, made, { ...policy, random });
        if (clock.now() + waitMs >= request.deadlineMs) throw error;
        await clock.sleep(waitMs);
      }
    }
  };
}

function judge<T>(
  answer: Answer,
  request: CallRequest,
  times: Times,
  read: (answer: Answer, times: Times) => T,
  maxPauseMs: number,
): T | PartnerError {
  if (answer.status < 200 || answer.status > 299)
    return faultOfAnswer(answer, request, times.receivedAt, maxPauseMs);
  try {
    return read(answer, times);
  } catch (error) {
    if (error instanceof PartnerError) return error;
    throw error;
  }
}

/**
 * No jitter if the service named the time. One millisecond is added, because a timer may fire early while the pause
 * still lasts.
 */
const waitBefore = ({ retryAfterMs }: PartnerError, made: number, backoff: BackoffOptions): number =>
  retryAfterMs === undefined ? backoffMs(made, backoff) : retryAfterMs + 1;

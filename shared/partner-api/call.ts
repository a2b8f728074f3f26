/** One call: attempts until the deadline, each with a connection, a slot of the rate budget and a time limit. */
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
  /** The longest wait that the service can ask for. */
  readonly maxPauseMs: number;
}

export interface CallRequest extends Asked {
  readonly wire: WireRequest;
  /** What the rate limiter knows it by. */
  readonly resource: string;
  readonly deadlineMs: number;
  /** Whether a fault may concern the cursor alone, which the next request leaves out: the rate limiter then waits for that. */
  readonly isUndecided?: (fault: PartnerError) => boolean;
  /** Called when an attempt has its turn; see the client's options. */
  readonly beforeSend?: (() => Promise<unknown> | undefined) | undefined;
}

export interface Times {
  /** When the attempt was sent, and when its answer was complete; by the bridge's clock. */
  readonly sentAt: number;
  readonly receivedAt: number;
}

export function createCaller(deps: CallerDeps) {
  const { transport, rateLimiter, clock, random, concurrency, attemptTimeoutMs, maxPauseMs } = deps;
  const connections = createConnections(concurrency);

  const outOfTime = ({ what }: CallRequest) =>
    new PartnerError('transient', `${what}: no time left, not sent`);

  /** A turn that cannot be used is given up, so that all others keep to the rate. */
  async function turnOf({ resource, deadlineMs, endpoint, beforeSend }: CallRequest): Promise<void> {
    for (;;) {
      await rateLimiter.enter(resource, deadlineMs, endpoint === 'token');
      const wait = beforeSend?.();
      if (!wait) return;
      await wait;
    }
  }

  /** Waits for its turn and sends. A socket that died while it was idle costs a GET another turn, not an attempt. */
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
    // Before the caller has the answer: a Lambda may be frozen as soon as it has.
    if (noted) await noted;
    if (outcome instanceof PartnerError) throw outcome;
    return outcome;
  }

  /**
   * Makes attempts until one succeeds, the policy allows no more, or the next one would come too late.
   *
   * @throws {PartnerError} of the last attempt
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

/** No jitter where the service named the time. A millisecond more, for a timer may be early and the pause still hold. */
const waitBefore = ({ retryAfterMs }: PartnerError, made: number, backoff: BackoffOptions): number =>
  retryAfterMs === undefined ? backoffMs(made, backoff) : retryAfterMs + 1;

/**
 * One call: repeats attempts until the deadline. Each attempt takes a connection, then a slot of the rate budget, then its
 * token, and has a time limit.
 */
import { type BackoffOptions, backoffMs } from '../domain/backoff.ts';
import type { Clock } from '../domain/clock.ts';
import { PartnerError } from '../domain/faults.ts';
import { Secret } from '../domain/secret.ts';
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

export interface CallRequest extends Omit<Asked, 'secrets'> {
  readonly wire: (token: Secret) => WireRequest;
  /** Absent for a token request, which has its secrets in the body. */
  readonly token?: () => Secret | Promise<Secret>;
  /** Secrets besides the token. Default: none. */
  readonly secrets?: readonly Secret[];
  /** Name of the requested resource for the rate limiter. */
  readonly resource: string;
  readonly deadlineMs: number;
  /**
   * Whether a fault may be caused only by the cursor. The rate limiter then waits for the result of the next request,
   * which has no cursor.
   */
  readonly isUndecided?: (fault: PartnerError) => boolean;
}

export interface Times {
  /** When the attempt was sent and when its answer was complete, by the bridge's clock. */
  readonly sentAt: number;
  readonly receivedAt: number;
}

interface Exchange extends Times {
  readonly answer: Answer;
  readonly token: Secret;
}

type Read<T> = (answer: Answer, times: Times) => T;

/** For requests that need no token. */
const noToken = new Secret('');

export function createCaller(deps: CallerDeps) {
  const { transport, rateLimiter, clock, random, concurrency, attemptTimeoutMs, maxPauseMs } = deps;
  const connections = createConnections(concurrency);

  const outOfTime = ({ what }: CallRequest) =>
    new PartnerError('transient', `${what}: no time left, not sent`);

  /**
   * Waits for a slot, and only then takes the token, so that nothing can happen to the token while the request waits. If
   * that takes long, the slot is lost, so that the rate is never exceeded.
   */
  async function turnOf({ resource, deadlineMs, token }: CallRequest): Promise<Secret> {
    for (;;) {
      const untilMs = await rateLimiter.enter(resource, deadlineMs, token === undefined);
      const taken = token?.() ?? noToken;
      if (!(taken instanceof Promise)) return taken;
      const secret = await taken;
      if (clock.now() <= untilMs) return secret;
    }
  }

  /**
   * Waits for its turn and sends. If the service had closed an idle socket, a GET takes another slot; this does not
   * count as an attempt.
   */
  async function exchange(request: CallRequest): Promise<Exchange | PartnerError> {
    for (let secondSocket = false; ; secondSocket = true) {
      const token = await turnOf(request);
      const sentAt = clock.now();
      const leftMs = request.deadlineMs - sentAt;
      if (leftMs <= 0) throw outOfTime(request);
      try {
        const answer = await transport.send(request.wire(token), Math.min(leftMs, attemptTimeoutMs));
        return { answer, token, sentAt, receivedAt: clock.now() };
      } catch (error) {
        if (!(error instanceof NoAnswerError)) throw error;
        if (!error.wasStale || secondSocket) return faultOfSilence(error, request.what);
      }
    }
  }

  /** @returns the fault of a request that was sent; throws if none was sent */
  async function attempt<T>(request: CallRequest, read: Read<T>): Promise<T | PartnerError> {
    const leftMs = request.deadlineMs - clock.now();
    if (leftMs <= 0) throw outOfTime(request);
    // A renewal must not occupy a connection. Nor does a token request take one, for which the others may wait.
    const ready = request.token?.();
    if (ready instanceof Promise) await ready;
    const isPooled = request.token !== undefined;
    if (isPooled && !connections.take() && !(await connections.wait(leftMs))) throw outOfTime(request);
    let exchanged: Exchange | PartnerError;
    try {
      exchanged = await exchange(request);
    } finally {
      if (isPooled) connections.release();
    }
    if (exchanged instanceof PartnerError) return exchanged;
    const outcome = judge(exchanged, request, read, maxPauseMs);
    const fault = outcome instanceof PartnerError ? outcome : undefined;
    const isUndecided = fault !== undefined && request.isUndecided?.(fault) === true;
    const noted = rateLimiter.answered(request.resource, fault, exchanged.sentAt, isUndecided);
    // This is done before the caller gets the answer, because the Lambda function may be frozen right after that.
    if (noted) await noted;
    return outcome;
  }

  /**
   * Repeats attempts until one succeeds, the retry policy allows no more, or the next one would be too late.
   *
   * @throws {PartnerError} the fault of the last attempt
   */
  return async function call<T>(request: CallRequest, policy: RetryPolicy, read: Read<T>): Promise<T> {
    for (let made = 1; ; made += 1) {
      const outcome = await attempt(request, read);
      if (!(outcome instanceof PartnerError)) return outcome;
      if (made >= policy.maxAttempts || !policy.covers(outcome)) throw outcome;
      const waitMs = waitBefore(outcome, made, { ...policy, random });
      if (clock.now() + waitMs >= request.deadlineMs) throw outcome;
      await clock.sleep(waitMs);
    }
  };
}

function judge<T>(
  exchange: Exchange,
  { what, endpoint, secrets = [] }: CallRequest,
  read: Read<T>,
  maxPauseMs: number,
): T | PartnerError {
  const { answer, token, receivedAt } = exchange;
  if (answer.status < 200 || answer.status > 299)
    return faultOfAnswer(answer, { what, endpoint, secrets: [token, ...secrets] }, receivedAt, maxPauseMs);
  try {
    return read(answer, exchange);
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

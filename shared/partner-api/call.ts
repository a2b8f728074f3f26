/**
 * One call: repeats attempts until the deadline. Each attempt takes a connection, then a slot of the rate budget, then its
 * token, and has a time limit.
 */

import type { Clock } from '../domain/clock.ts';
import { type BackoffOptions, backoffMs } from '../domain/concurrency.ts';
import { BridgeFault } from '../domain/faults.ts';
import { Secret } from '../domain/secret.ts';
import type { Answers } from '../state/activity.ts';
import { type Asked, faultOfAnswer, faultOfSilence } from './error-answers.ts';
import type { HoldKeeper } from './hold-keeper.ts';
import type { RateLimiter } from './rate-limiter.ts';
import {
  type Answer,
  createConnections,
  NoAnswerError,
  type Transport,
  type WireRequest,
} from './transport.ts';

export interface CallerDeps {
  readonly transport: Transport;
  readonly rateLimiter: RateLimiter;
  readonly holds: Pick<HoldKeeper, 'admit' | 'answered' | 'isFailing'>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly concurrency: number;
  readonly attemptTimeoutMs: number;
  /** The longest wait that the bridge accepts from the service. */
  readonly maxPauseMs: number;
  /** Counts the answers. Default: nobody does. */
  readonly answers?: Pick<Answers, 'note'> | undefined;
}

export interface CallRequest extends Omit<Asked, 'secrets'> {
  readonly wire: (token: Secret) => WireRequest;
  /** Absent for a token request, which has its secrets in the body. */
  readonly token?: (resource: string) => Secret | Promise<Secret>;
  /** Secrets besides the token. Default: none. */
  readonly secrets?: readonly Secret[];
  /** Owner of the token. */
  readonly account?: string | undefined;
  /** Name of the requested resource. */
  readonly resource: string;
  readonly deadlineMs: number;
  /** Whether a fault may be caused only by the cursor or the token: then the next request for the resource decides. */
  readonly isUndecided?: ((fault: BridgeFault) => boolean) | undefined;
}

/** A request that was answered. */
export interface Sent {
  /** When the attempt was sent and when its answer was complete, by the bridge's clock. */
  readonly sentAt: number;
  readonly receivedAt: number;
  readonly token: Secret;
}

interface Exchange extends Sent {
  readonly answer: Answer;
  readonly fault: undefined;
}

/** There was no answer. */
interface Silence {
  readonly sentAt: number;
  readonly answer?: undefined;
  readonly fault: BridgeFault;
}

type Read<T> = (answer: Answer, sent: Sent) => T;

/** For requests that need no token. */
const noToken = new Secret('');

export function createCaller(deps: CallerDeps) {
  const { transport, rateLimiter, holds, clock, random, concurrency, attemptTimeoutMs, maxPauseMs, answers } =
    deps;
  const connections = createConnections(concurrency);

  const outOfTime = ({ what }: CallRequest) =>
    new BridgeFault('transient', `${what}: no time left, not sent`);

  /** Asks for a hold of the bridge, then for one of the account. @returns the token, nearly always without waiting */
  function admitted({ resource, token }: CallRequest): Secret | Promise<Secret> {
    const admission = holds.admit(undefined, resource, token === undefined);
    const taken = () => token?.(resource) ?? noToken;
    return admission ? admission.then(taken) : taken();
  }

  /**
   * Waits for a slot, and only then takes the token, so that nothing can happen to the token while the request waits. If
   * that takes long, the slot is lost, so that the rate is never exceeded.
   */
  async function turnOf(request: CallRequest): Promise<Secret> {
    for (;;) {
      const untilMs = await rateLimiter.enter(request.resource, request.deadlineMs);
      const taken = admitted(request);
      if (!(taken instanceof Promise)) return taken;
      const token = await taken;
      if (clock.now() <= untilMs) return token;
    }
  }

  /**
   * Waits for its turn and sends. If the service had closed an idle socket, a GET takes another slot; this does not
   * count as an attempt.
   */
  async function exchange(request: CallRequest): Promise<Exchange | Silence> {
    for (let secondSocket = false; ; secondSocket = true) {
      const token = await turnOf(request);
      const sentAt = clock.now();
      const leftMs = request.deadlineMs - sentAt;
      if (leftMs <= 0) throw outOfTime(request);
      try {
        const answer = await transport.send(request.wire(token), Math.min(leftMs, attemptTimeoutMs));
        return { answer, token, sentAt, receivedAt: clock.now(), fault: undefined };
      } catch (error) {
        if (!(error instanceof NoAnswerError)) throw error;
        if (!error.wasStale || secondSocket) return { fault: faultOfSilence(error, request.what), sentAt };
      }
    }
  }

  /** @returns the fault of a request that was sent; throws if none was sent */
  async function attempt<T>(request: CallRequest, read: Read<T>): Promise<T | BridgeFault> {
    const leftMs = request.deadlineMs - clock.now();
    if (leftMs <= 0) throw outOfTime(request);
    // A renewal must not occupy a connection. Nor does a token request take one, for which the others may wait.
    const ready = admitted(request);
    if (ready instanceof Promise) await ready;
    const isPooled = request.token !== undefined;
    if (isPooled && !connections.take() && !(await connections.wait(leftMs))) throw outOfTime(request);
    let exchanged: Exchange | Silence;
    try {
      exchanged = await exchange(request);
    } finally {
      if (isPooled) connections.release();
    }
    const { account, resource, isUndecided } = request;
    const { sentAt, answer } = exchanged;
    const outcome = exchanged.fault ?? judge(exchanged, request, read, maxPauseMs);
    const fault = outcome instanceof BridgeFault ? outcome : undefined;
    const ms = clock.now() - sentAt;
    answers?.note({ status: answer?.status, fault, ms, resource, account });
    const noted = holds.answered(
      { account, resource, fault, sentAt },
      fault !== undefined && isUndecided?.(fault) === true,
    );
    // This is done before the caller gets the answer, because the Lambda function may be frozen right after that.
    if (noted) await noted;
    return outcome;
  }

  /**
   * Repeats attempts until one succeeds, the retry policy allows no more, or the next one would be too late.
   *
   * @throws {BridgeFault} the fault of the last attempt
   */
  return async function call<T>(request: CallRequest, policy: RetryPolicy, read: Read<T>): Promise<T> {
    // Where the last answer was a fault, the queue or the next run repeats, with growing delays.
    const maxAttempts = holds.isFailing(request.resource) ? 1 : policy.maxAttempts;
    for (let made = 1; ; made += 1) {
      const outcome = await attempt(request, read);
      if (!(outcome instanceof BridgeFault)) return outcome;
      if (made >= maxAttempts || !policy.covers(outcome)) throw outcome;
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
): T | BridgeFault {
  const { answer, token, receivedAt } = exchange;
  if (answer.status < 200 || answer.status > 299)
    return faultOfAnswer(answer, { what, endpoint, secrets: [token, ...secrets] }, receivedAt, maxPauseMs);
  try {
    return read(answer, exchange);
  } catch (error) {
    if (error instanceof BridgeFault) return error;
    throw error;
  }
}

/**
 * No jitter if the service named the time. One millisecond is added, because a timer may fire early while the pause
 * still lasts.
 */
const waitBefore = ({ retryAfterMs }: BridgeFault, made: number, backoff: BackoffOptions): number =>
  retryAfterMs === undefined ? backoffMs(made, backoff) : retryAfterMs + 1;

export interface RetryPolicy {
  /** Total number of attempts, including the first. */
  readonly maxAttempts: number;
  /** Upper limit of the first wait; it doubles with each attempt, with full jitter. */
  readonly baseMs: number;
  readonly capMs: number;
  /** Whether this fault may be retried. */
  readonly covers: (fault: BridgeFault) => boolean;
}

/** Retries every transient fault: a GET changes nothing, so it may be repeated. */
export const getPolicy: RetryPolicy = {
  maxAttempts: 3,
  baseMs: 250,
  capMs: 5_000,
  covers: ({ policy }) => policy.retryable,
};

/**
 * Retries only if no part of the request was sent. A token request whose answer is lost may have used up a one-time
 * code, or rotated the refresh token. (By partner-api.md §5.3 rule 3 the service returns the latest refresh token again
 * on the same day, but the rule does not say clearly that the old one still works.) The refresh-token stage, which has
 * recorded its attempt, decides about a retry.
 */
export const tokenPolicy: RetryPolicy = {
  ...getPolicy,
  covers: ({ cause }) => cause instanceof NoAnswerError && cause.code === 'not-connected',
};

/** One call repeats attempts; each takes a connection, then a slot of the rate budget, its token, and after a hold the trial. */

import { type Clock, type Deadline, systemClock } from '../domain/clock.ts';
import { backoffMs, limitedTo } from '../domain/concurrency.ts';
import { BridgeFault } from '../domain/faults.ts';
import { Secret } from '../domain/secret.ts';
import type { Answers } from '../state/activity.ts';
import type { CachedBudget } from './cached-rows.ts';
import { faultOfAnswer, type Sent } from './error-answers.ts';
import type { HoldKeeper } from './hold-keeper.ts';
import type { RateLimiter } from './rate-limiter.ts';
import { NoAnswerError, type Transport, type WireRequest } from './transport.ts';

/** What requests wait for; one per process. */
export interface Gates {
  readonly rateLimiter: RateLimiter;
  readonly holds: HoldKeeper;
  /** The row of the whole bridge, which knows whether the base URL is right. */
  readonly budget: CachedBudget;
}

export interface CallerOptions {
  /** Maximum number of concurrent requests and open sockets. Default 1. */
  readonly concurrency?: number;
  /** Time limit of one attempt, from connecting to the last byte. Default 10,000. A token request has its whole deadline. */
  readonly attemptTimeoutMs?: number;
  /** Counts the answers of the service. Default: nobody does. */
  readonly answers?: Pick<Answers, 'note'>;
  readonly clock?: Clock;
  readonly random?: () => number;
}

export interface CallRequest extends Deadline {
  /** Owner of the token: after bad answers about several of its adverts, they go one at a time. */
  readonly partnerAccount?: string;
  /**
   * Whether the fault may be caused only by the cursor or the token, so that the caller repeats the request and the next
   * answer decides. Default: no.
   */
  readonly isUndecided?: (fault: BridgeFault) => boolean;
  /** Method and path without the query, such as `GET /api/partner/adverts/123`, for messages. */
  readonly what: string;
  readonly wire: (token: Secret) => WireRequest;
  /**
   * Asked before the request waits for its turn, so that the token is renewed before that, and again when it is about to
   * be sent (`isNext`). If it throws, nothing is sent. Absent for a token request, which has its secrets in the body.
   */
  readonly token?: (resource: string, isNext: boolean) => Promise<Secret>;
  /** Secrets besides the token. Default: none. */
  readonly secrets?: readonly Secret[];
  /** Under this name, gates and faults know what is asked for. */
  readonly resource: string;
}

/** For requests that need no token. */
const noToken = new Secret('');

const outOfTime = ({ what }: CallRequest) =>
  new BridgeFault('transient', `${what}: not sent, because there was no time left`);

/** @param maxPauseMs the longest wait that the bridge accepts from the service */
export function createCaller(
  { rateLimiter, holds, budget }: Gates,
  transport: Transport,
  {
    baseUrl,
    maxPauseMs,
    ...options
  }: CallerOptions & { readonly baseUrl: string; readonly maxPauseMs: number },
) {
  const { answers, attemptTimeoutMs = 10_000, clock = systemClock, random = Math.random } = options;
  /** Taken before a slot: otherwise requests that wait for a connection would be sent in a burst when one is free. */
  const withConnection = limitedTo(options.concurrency ?? 1);
  /** Resources whose last answer was a fault. */
  const failing = new Set<string>();

  /**
   * Takes the token only after the slot, so that nothing can happen to the token while the request waits. If that
   * takes long, the slot is lost, so that the rate is never exceeded.
   */
  async function turnOf({ resource, token, deadlineMs }: CallRequest): Promise<Secret> {
    for (;;) {
      const untilMs = await rateLimiter.enter(resource, deadlineMs);
      const taken = token ? await token(resource, true) : noToken;
      // Only now may it try the service after a hold: a renewal of its token would be refused because of that trial.
      await holds.ready({ resource, isForTokens: token === undefined, isNext: true });
      if (clock.now() <= untilMs) return taken;
    }
  }

  /** If the service had closed an idle socket, a GET takes another slot; this does not count as an attempt. */
  async function exchange(request: CallRequest) {
    const { what, secrets = [] } = request;
    for (let isSecond = false; ; isSecond = true) {
      const token = await turnOf(request);
      const sentAt = clock.now();
      const leftMs = request.deadlineMs - sentAt;
      if (leftMs <= 0) throw outOfTime(request);
      try {
        // The answer to a token request may be the only one with the new refresh token.
        // Rule: late-answer-lost
        const timeoutMs = request.token ? Math.min(leftMs, attemptTimeoutMs) : leftMs;
        const answer = await transport.send(request.wire(token), timeoutMs);
        return { what, secrets: [token, ...secrets], sentAt, receivedAt: clock.now(), answer };
      } catch (error) {
        if (!(error instanceof NoAnswerError)) throw error;
        if (error.wasStale && !isSecond) continue;
        const code = (error.cause as NodeJS.ErrnoException | undefined)?.code;
        const message = `${what}: ${error.message}${code ? ` (${code})` : ''}`;
        return { sentAt, fault: new BridgeFault('transient', message, { cause: error }) };
      }
    }
  }

  /** @returns the fault of a request that was sent; throws if none was sent */
  async function attempt<T>(
    request: CallRequest,
    read: (sent: Sent) => T,
    isRepeated: (fault: BridgeFault) => boolean,
  ): Promise<T | BridgeFault> {
    const leftMs = request.deadlineMs - clock.now();
    if (leftMs <= 0) throw outOfTime(request);
    const { partnerAccount: account, resource, token, isUndecided } = request;
    await holds.ready({ resource, isForTokens: token === undefined, isNext: false });
    // A renewal must not occupy a connection. Nor does a token request take one, for which the others may wait.
    await token?.(resource, false);
    const send = () => exchange(request);
    const patience = { maxMs: leftMs, late: () => outOfTime(request) };
    const sent = await (token ? withConnection(send, patience) : send());
    const { sentAt, answer } = sent;
    const outcome = answer ? judged(sent, request, read) : sent.fault;
    if (token && !(outcome instanceof BridgeFault)) await prove();
    const fault = outcome instanceof BridgeFault ? outcome : undefined;
    const evidence = { account, resource, fault, sentAt };
    answers?.note(evidence, answer?.status);
    const isOpen = fault !== undefined && (isUndecided?.(fault) === true || isRepeated(fault));
    // This is done before the caller gets the answer, because the Lambda function may be frozen right after that.
    // If the fault may be caused only by the cursor or the token, or the request is repeated, the next answer decides.
    // Planted fault: cursor-403-counted
    if (!isOpen) await holds.answered(evidence);
    return outcome;
  }

  const isProven = () => budget.state.provenUrl === baseUrl;

  /** Stores once that the base URL is right. If that fails, the next answer does it. */
  async function prove(): Promise<void> {
    if (isProven()) return;
    await budget.change((state) => ({ ...state, provenUrl: baseUrl })).catch(() => undefined);
  }

  function judged<T>(sent: Sent, { token }: CallRequest, read: (sent: Sent) => T): T | BridgeFault {
    const { status } = sent.answer;
    const endpoint = isProven() ? 'api' : 'unproven';
    if (status < 200 || status > 299) return faultOfAnswer(sent, token ? endpoint : 'token', maxPauseMs);
    try {
      return read(sent);
    } catch (error) {
      if (error instanceof BridgeFault) return error;
      throw error;
    }
  }

  /** @throws {BridgeFault} the fault of the last attempt */
  return async function call<T>(request: CallRequest, read: (sent: Sent) => T): Promise<T> {
    const { resource } = request;
    // Where the last answer was a fault, the queue or the next run repeats, with growing delays.
    const attempts = failing.has(resource) ? 1 : maxAttempts;
    if (failing.size >= maxFailing) failing.clear();
    for (let made = 1; ; made += 1) {
      let waitMs: number | undefined;
      const outcome = await attempt(request, read, (fault) => {
        // No jitter if the service named the time; one more millisecond, because a timer may fire early.
        const { retryAfterMs } = fault;
        const ms = retryAfterMs === undefined ? backoffMs(made, { ...backoff, random }) : retryAfterMs + 1;
        const isPossible = made < attempts && isRepeatable(fault, request);
        if (isPossible && clock.now() + ms < request.deadlineMs) waitMs = ms;
        return waitMs !== undefined;
      });
      if (!(outcome instanceof BridgeFault)) {
        failing.delete(resource);
        return outcome;
      }
      if (waitMs === undefined) {
        failing.add(resource);
        throw outcome;
      }
      await clock.sleep(waitMs);
    }
  };
}

/** Total number of attempts of one call. */
const maxAttempts = 3;
/** More resources than this are not remembered as failing. */
const maxFailing = 10_000;
const backoff = { baseMs: 250, capMs: 5_000 };

/**
 * A GET changes nothing. A token request whose answer is lost may have used up a one-time code, or rotated the refresh
 * token, so it is repeated only if no part of it was sent (partner-api.md §5.3 rule 3 is not clear).
 */
const isRepeatable = ({ code, cause }: BridgeFault, { token }: CallRequest): boolean =>
  token ? code === 'transient' : cause instanceof NoAnswerError && cause.code === 'not-connected';

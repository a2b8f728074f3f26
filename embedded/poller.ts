import type { Drain, DrainReport } from '../functions/drain/drain.ts';
import { type Clock, toInstant } from '../shared/domain/clock.ts';
import { PartnerError } from '../shared/domain/faults.ts';
import type { BookKeeper } from '../shared/ports/books.ts';
import type { Observer } from '../shared/ports/observer.ts';

export interface PollerDeps {
  readonly drain: Pick<Drain, 'round'>;
  readonly clock: Clock;
  readonly observer: Observer;
  readonly pollSeconds: number;
}

/** No round takes longer; the next one goes on from the cursor. */
const roundMs = 10 * 60_000;
/** A backlog is looked at again after this. */
const backlogLookMs = 200;

/**
 * Begins a round every `pollSeconds` until `signal` is aborted. A round does not wait for the one before: a feed that
 * hangs, or has no end, is still leased by that one, and all others are polled when they are due.
 */
export async function pollForEver(
  { drain, clock, observer, pollSeconds }: PollerDeps,
  signal: AbortSignal,
): Promise<void> {
  const rounds = new Set<Promise<void>>();
  while (!signal.aborted) {
    const round = drain
      .round({ deadlineMs: clock.now() + roundMs, signal })
      .catch((error: unknown) => observer.error('the feeds could not be polled', { error }))
      .then(() => {
        rounds.delete(round);
      });
    rounds.add(round);
    await clock.sleep(pollSeconds * 1000, signal);
  }
  await Promise.all(rounds);
}

export interface IdleDeps extends PollerDeps {
  readonly bookKeeper: BookKeeper;
  /** Until when the service wants to be left alone by the whole bridge, ms since 1970. */
  readonly pausedUntil: () => Promise<number>;
  /** Messages that wait for a stopped partner account: they do not keep the run going. */
  readonly waitingForStopped: () => Promise<number>;
}

/** Rounds in a row that may end in a fault before it counts as one that waiting does not cure. */
const maxFailedRounds = 4;
const failedRoundMs = 1_000;
const queueLookMs = 20;
/** What rests longer is not waited for. */
const longestRestMs = 60_000;
/** Messages that come back again and again, with nothing else getting done, are left to a person after this. */
const stuckMs = 120_000;

/**
 * Polls until every feed is up to date and the queue is empty. A feed that cannot be read keeps no other from being read
 * and delivered: its fault is what the run ends with.
 *
 * @returns the fault that is left, if there is one
 */
export async function pollUntilIdle(deps: IdleDeps, signal: AbortSignal): Promise<PartnerError | undefined> {
  const { drain, clock } = deps;
  const queue = createQueueWatch(deps);
  for (let failedRounds = 0; !signal.aborted; ) {
    const report = await drain.round({ deadlineMs: clock.now() + roundMs, signal });
    const open = unreadFeeds(report, clock.now());
    const fault = open.find((one) => !isWaiting(one)) ?? open[0];
    failedRounds = fault && !isWaiting(fault) ? failedRounds + 1 : 0;
    const hopeless = open.find(isGivenUp) ?? (failedRounds >= maxFailedRounds ? fault : undefined);
    if (report.polls.some(({ end }) => end === 'backlog' || end === 'out-of-time')) {
      await clock.sleep(backlogLookMs, signal);
    } else if (hopeless) {
      return (await queue.emptied(signal, Number.POSITIVE_INFINITY)) === 'stopped' ? undefined : hopeless;
    } else if (fault) {
      await queue.tellPause();
      await clock.sleep(fault.retryAfterMs ?? failedRoundMs * failedRounds, signal);
    } else {
      const left = await queue.emptied(signal, clock.now() + deps.pollSeconds * 1000);
      if (left === 'empty') return undefined;
      if (left instanceof PartnerError) return left;
    }
  }
  return undefined;
}

/** Time cures it: no fault, just patience. */
const isWaiting = ({ code }: PartnerError): boolean =>
  code === 'paused' || code === 'rate-limited' || code === 'account-paused';

/** A pause that the service asked for is waited out, however long; what rests for its own reasons only for a while. */
const isGivenUp = ({ policy, code, retryAfterMs = 0 }: PartnerError): boolean =>
  policy.needsAttention || (code !== 'paused' && code !== 'rate-limited' && retryAfterMs > longestRestMs);

/** Told by the stop that came of them, and by the exit code. */
const stopping: readonly string[] = ['account-stopped', 'scope-insufficient', 'grant-rejected'];

/** Why feeds of partner accounts that are not stopped were not read to their end, each with the account's name. */
function unreadFeeds({ polls, paused }: DrainReport, nowMs: number): PartnerError[] {
  const failed = polls.flatMap((poll) =>
    poll.end === 'fault' && !stopping.includes(poll.fault.code)
      ? [named(poll.partnerAccount, poll.fault)]
      : [],
  );
  const resting = paused.map(({ partnerAccount, kind, reason, untilMs }) => {
    const code = kind === 'feed' ? 'contract-broken' : 'account-paused';
    return named(partnerAccount, new PartnerError(code, reason, { retryAfterMs: untilMs - nowMs }));
  });
  return [...failed, ...resting];
}

function named(partnerAccount: string, fault: PartnerError): PartnerError {
  const { code, message, status, serviceCode, retryAfterMs, cause } = fault;
  return new PartnerError(code, `partner account ${partnerAccount}: ${message}`, {
    status,
    serviceCode,
    retryAfterMs,
    cause,
  });
}

/** Knows whether the queue gets emptier. */
function createQueueWatch({ bookKeeper, waitingForStopped, pausedUntil, clock, observer }: IdleDeps) {
  let last = { left: -1, at: clock.now() };
  let told = 0;

  /** Says once for each pause that the service asked for one. @returns whether it lasts */
  async function tellPause(): Promise<boolean> {
    const until = await pausedUntil();
    if (until <= clock.now()) return false;
    if (until !== told) observer.warn('the service asked for a pause', { until: toInstant(until) });
    told = until;
    return true;
  }

  /** Waits for the queue to become empty, until a moment, or until what is left fails again and again. */
  async function emptied(
    signal: AbortSignal,
    untilMs: number,
  ): Promise<'empty' | 'poll-due' | 'stopped' | PartnerError> {
    for (; !signal.aborted; await clock.sleep(queueLookMs, signal)) {
      const { waiting } = await bookKeeper.queue();
      const left = waiting === 0 ? 0 : waiting - (await waitingForStopped());
      if (left <= 0) return 'empty';
      if (clock.now() >= untilMs) return 'poll-due';
      if (left !== last.left || (await tellPause())) last = { left, at: clock.now() };
      if (clock.now() - last.at >= stuckMs) return stuck(left);
    }
    return 'stopped';
  }

  return { emptied, tellPause };
}

const stuck = (left: number): PartnerError =>
  new PartnerError(
    'transient',
    `${left} messages fail again and again; they stay in the queue for the next run`,
  );

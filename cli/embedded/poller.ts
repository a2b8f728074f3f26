import type { Drain, DrainReport } from '../../functions/drain/drain.ts';
import type { Clock } from '../../shared/domain/clock.ts';
import type { PartnerFault } from '../../shared/domain/faults.ts';
import type { BookKeeper, Observer } from '../../shared/domain/ports.ts';

export interface PollerDeps {
  readonly drain: Drain;
  readonly clock: Clock;
  readonly observer: Observer;
  readonly pollSeconds: number;
}

/** No round takes longer; the next one goes on from the cursor. */
const roundMs = 10 * 60_000;
/** A backlog is looked at again after this. */
const backlogLookMs = 200;

/** Polls every feed each `pollSeconds` until `signal` is aborted. */
export async function pollForEver(
  { drain, clock, observer, pollSeconds }: PollerDeps,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const startedAt = clock.now();
    const report = await drain.round({ deadlineMs: startedAt + roundMs, signal }).catch((error: unknown) => {
      observer.error('the feeds could not be polled', { error });
      return undefined;
    });
    const behind = report?.polls.some(({ end }) => end === 'backlog' || end === 'out-of-time');
    const waitMs = behind ? backlogLookMs : startedAt + pollSeconds * 1000 - clock.now();
    if (waitMs > 0) await clock.sleep(waitMs, signal);
  }
}

export interface IdleDeps extends PollerDeps {
  readonly bookKeeper: BookKeeper;
  /** Messages that wait for a stopped partner account: they do not keep the run going. */
  readonly waitingForStopped: () => Promise<number>;
}

/** Rounds in a row that may end in a fault before it counts as one that waiting does not cure. */
const mostFailedRounds = 4;
const failedRoundMs = 1_000;
const queueLookMs = 20;

/**
 * Polls until every feed is up to date and the queue is empty.
 *
 * @returns the fault that keeps a feed from being read, if there is one
 */
export async function pollUntilIdle(deps: IdleDeps, signal: AbortSignal): Promise<PartnerFault | undefined> {
  const { drain, clock } = deps;
  for (let failedRounds = 0; !signal.aborted; ) {
    const report = await drain.round({ deadlineMs: clock.now() + roundMs, signal });
    const fault = faultOf(report);
    const behind = report.polls.some(({ end }) => end === 'backlog' || end === 'out-of-time');
    if (!fault) failedRounds = 0;
    if (fault && !isWaiting(fault)) {
      failedRounds += 1;
      if (failedRounds >= mostFailedRounds || fault.policy.needsAttention) return fault;
    }
    const waitMs = fault ? (fault.retryAfterMs ?? failedRoundMs * failedRounds) : backlogLookMs;
    if (fault || behind) await clock.sleep(waitMs, signal);
    else if (await emptied(deps, signal)) return undefined;
  }
  return undefined;
}

/** The service asked to be left alone: no fault, just patience. */
const isWaiting = ({ code }: PartnerFault): boolean => code === 'paused' || code === 'slow-down';

function faultOf({ polls }: DrainReport): PartnerFault | undefined {
  const faults = polls.flatMap((poll) =>
    poll.end === 'fault' && !isAccounts(poll.fault) ? [poll.fault] : [],
  );
  return faults.find((fault) => !isWaiting(fault)) ?? faults[0];
}

/** Told by the account's stop or pause, and by the exit code. */
const isAccounts = ({ policy, code }: PartnerFault): boolean =>
  policy.blames === 'partner-account' && code !== 'token-rejected';

/** @returns true when the queue is empty; false when a new poll is due first */
async function emptied(deps: IdleDeps, signal: AbortSignal): Promise<boolean> {
  const { bookKeeper, waitingForStopped, clock, pollSeconds } = deps;
  const pollAgainAt = clock.now() + pollSeconds * 1000;
  while (!signal.aborted && clock.now() < pollAgainAt) {
    const { waiting } = await bookKeeper.queue();
    if (waiting === 0 || waiting <= (await waitingForStopped())) return true;
    await clock.sleep(queueLookMs, signal);
  }
  return false;
}

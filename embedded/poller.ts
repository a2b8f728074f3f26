import type { Drain, DrainReport } from '../functions/drain/drain.ts';
import type { Clock } from '../shared/domain/clock.ts';
import { PartnerError } from '../shared/domain/faults.ts';
import type { Observer } from '../shared/ports/observer.ts';
import { createQueueWatch, type QueueWatchDeps } from './queue-watch.ts';

export interface PollerDeps {
  readonly drain: Pick<Drain, 'round'>;
  readonly clock: Clock;
  readonly observer: Observer;
  readonly pollSeconds: number;
}

/** No round takes longer; the next one goes on from the cursor. */
const roundMs = 10 * 60_000;

/**
 * Begins a round of polls every `pollSeconds` until `signal` is aborted. It does not wait for the round before, which may
 * be held up by one feed: that feed is still leased by it, and all others are polled when they are due.
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

/** A queue that is too full to read on is looked at again after this. */
const backlogLookMs = 200;
/** Rounds in a row that may end in a fault before it is taken for a lasting one. */
const maxFailedRounds = 4;
const failedRoundMs = 1_000;
/** A feed or partner account that is paused for longer is not waited for. */
const longestPauseMs = 60_000;

/**
 * Polls until every feed is up to date and the queue is empty. A feed that cannot be read keeps no other from being read
 * and delivered: the run ends with its fault.
 *
 * @returns the fault that is left, if there is one
 */
export async function pollUntilIdle(
  deps: PollerDeps & QueueWatchDeps,
  signal: AbortSignal,
): Promise<PartnerError | undefined> {
  const { drain, clock, pollSeconds } = deps;
  const queue = createQueueWatch(deps);
  for (let failedRounds = 0; !signal.aborted; ) {
    const report = await drain.round({ deadlineMs: clock.now() + roundMs, signal });
    const faults = faultsOf(report, clock.now());
    const fault = faults.find((one) => !isPause(one)) ?? faults[0];
    failedRounds = fault && !isPause(fault) ? failedRounds + 1 : 0;
    const lasting = faults.find(isLasting) ?? (failedRounds >= maxFailedRounds ? fault : undefined);
    if (report.polls.some(({ end }) => end === 'backlog' || end === 'out-of-time')) {
      await clock.sleep(backlogLookMs, signal);
    } else if (lasting) {
      return (await queue.untilEmpty(signal, Number.POSITIVE_INFINITY)) === 'stopped' ? undefined : lasting;
    } else if (fault) {
      // Asked for the warning that it logs.
      await queue.isPaused();
      await clock.sleep(fault.retryAfterMs ?? failedRoundMs * failedRounds, signal);
    } else {
      const left = await queue.untilEmpty(signal, clock.now() + pollSeconds * 1000);
      if (left === 'empty') return undefined;
      if (left instanceof PartnerError) return left;
    }
  }
  return undefined;
}

/** Ends by itself: waiting is enough. */
const isPause = ({ code }: PartnerError): boolean =>
  code === 'paused' || code === 'rate-limited' || code === 'account-paused';

/** A pause that the service asked for is waited out, however long. */
const isLasting = ({ policy, code, retryAfterMs = 0 }: PartnerError): boolean =>
  policy.needsAttention || (code !== 'paused' && code !== 'rate-limited' && retryAfterMs > longestPauseMs);

/** Met by the feed of adverts, these stop the partner account; another feed stops nothing. */
const stopping: readonly string[] = ['account-stopped', 'scope-insufficient', 'grant-rejected'];

/** A stop is reported by itself, and so is an operator's pause. */
const isReportedElsewhere = (feed: string, { code }: PartnerError): boolean =>
  code === 'operator-paused' || (feed === 'adverts' && stopping.includes(code));

/** Why feeds of partner accounts that are not stopped were not read to their end, each with the account's name. */
function faultsOf({ polls, paused }: DrainReport, nowMs: number): PartnerError[] {
  const failed = polls.flatMap((poll) =>
    poll.end === 'fault' && !isReportedElsewhere(poll.feed, poll.fault)
      ? [named(poll.partnerAccount, poll.fault)]
      : [],
  );
  const notPolled = paused.flatMap(({ partnerAccount, kind, reason, untilMs }) => {
    if (kind === 'operator') return [];
    const code = kind === 'feed' ? 'contract-broken' : 'account-paused';
    return [named(partnerAccount, new PartnerError(code, reason, { retryAfterMs: untilMs - nowMs }))];
  });
  return [...failed, ...notPolled];
}

const named = (partnerAccount: string, fault: PartnerError): PartnerError =>
  new PartnerError(fault.code, `partner account ${partnerAccount}: ${fault.message}`, fault);

import type { Drain, DrainReport } from '../functions/drain/drain.ts';
import type { BridgeSettings } from '../shared/contract/settings.ts';
import type { Clock } from '../shared/domain/clock.ts';
import { BridgeFault } from '../shared/domain/faults.ts';
import type { Observer } from '../shared/ports/observer.ts';

export interface PollerDeps {
  readonly drain: Pick<Drain, 'round'>;
  readonly clock: Clock;
  readonly observer: Observer;
  /** Whether what a round stores would wait for room on a full disk. */
  readonly isDiskFull?: () => boolean;
  readonly settings: Pick<
    BridgeSettings,
    'pollSeconds' | 'confirmUnavailableSeconds' | 'confirmUnchangedSeconds' | 'maxRequestsPerSecond'
  >;
}

/** Time limit of a round; the next round continues from the cursor. */
const roundMs = 10 * 60_000;

/** Starts a round every `pollSeconds` until `signal` is aborted, whether or not the previous one has ended. */
export async function pollForEver(
  { drain, clock, observer, isDiskFull, settings }: PollerDeps,
  signal: AbortSignal,
): Promise<undefined> {
  const pollMs = settings.pollSeconds * 1000;
  let rounds: Promise<unknown> = Promise.resolve();
  while (!signal.aborted) {
    // On a full disk rounds would wait for room, more and more of them.
    if (!isDiskFull?.()) {
      const round = drain
        .round({ deadlineMs: clock.now() + roundMs, nextRoundMs: clock.now() + pollMs, signal })
        .catch((error: unknown) => observer.error('the feeds could not be polled', { error }));
      rounds = Promise.all([rounds, round]).then(() => undefined);
    }
    await clock.sleep(pollMs, signal);
  }
  await rounds;
  return undefined;
}

export interface UntilIdleDeps extends PollerDeps {
  /** Until when the service asked the whole bridge to send nothing, ms since 1970. */
  readonly pausedUntil: () => Promise<number>;
  /** Number of messages, without those of accounts that are stopped or paused by an operator: they wait for a person. */
  readonly toDeliver: () => Promise<number>;
  /** Number of those that are in the queue, and not outside it. */
  readonly inQueue: () => Promise<number>;
}

/** Delay before the next round for a feed that has more pages, or that another process reads now. */
const unreadLookMs = 1_000;
/** Number of consecutive failed rounds before the fault counts as lasting. */
const maxFailedRounds = 4;
const failedRoundMs = 1_000;
/** A run does not wait for a feed or partner account that is paused for longer. */
const longestPauseMs = 60_000;
const lookMs = 20;
/**
 * After this time without any progress, a run leaves what waits outside the queue to the next one. What it finds in the
 * queue may have come back just then: it is a fault only after as long again.
 */
const stuckMs = 120_000;
/** Requests for which the rate budget may be used before a message's next try. */
const slotsBefore = 30;

/**
 * Polls until every feed is up to date and the queue is empty; the others are read and delivered even if one cannot be.
 *
 * @returns the remaining fault, if there is one
 */
export async function pollUntilIdle(
  deps: UntilIdleDeps,
  signal: AbortSignal,
): Promise<BridgeFault | undefined> {
  const { drain, clock, pausedUntil, toDeliver, inQueue, settings } = deps;
  const pollMs = settings.pollSeconds * 1000;
  // The second fetch of an advert, and the wait for the rate budget, which takes minutes at the lowest rates.
  const delaySeconds =
    Math.max(settings.confirmUnavailableSeconds, settings.confirmUnchangedSeconds) +
    slotsBefore / settings.maxRequestsPerSecond;
  const patienceMs = stuckMs + delaySeconds * 1000;
  let last = { left: -1, at: clock.now() };

  /** @returns a fault if messages in the queue make no progress; undefined at `untilMs`, or when stopped */
  async function untilEmpty(untilMs: number): Promise<'empty' | BridgeFault | undefined> {
    for (; !signal.aborted; await clock.sleep(lookMs, signal)) {
      const left = await toDeliver();
      const now = clock.now();
      if (left <= 0) return 'empty';
      if (now >= untilMs) return undefined;
      if (left !== last.left || (await pausedUntil()) > now) last = { left, at: now };
      const stillMs = now - last.at;
      if (stillMs >= patienceMs) {
        if ((await inQueue()) === 0) return 'empty';
        if (stillMs < 2 * patienceMs) continue;
        const text = `${left} messages make no progress; they wait for the next run`;
        return new BridgeFault('transient', text);
      }
    }
    return undefined;
  }

  for (let failedRounds = 0; !signal.aborted; ) {
    const now = clock.now();
    const nextRoundMs = now + pollMs;
    const report = await drain.round({ deadlineMs: now + roundMs, nextRoundMs, insists: true, signal });
    const faults = faultsOf(report, clock.now());
    const fault = faults.find((one) => !isPause(one)) ?? faults[0];
    failedRounds = fault && !isPause(fault) ? failedRounds + 1 : 0;
    const lasting = faults.find(isLongFault) ?? (failedRounds >= maxFailedRounds ? fault : undefined);
    if (report.polls.some(({ end }) => !isRead.includes(end))) {
      await clock.sleep(unreadLookMs, signal);
    } else if (lasting) {
      return (await untilEmpty(Number.POSITIVE_INFINITY)) && lasting;
    } else if (fault) {
      await clock.sleep(fault.retryAfterMs ?? failedRoundMs * failedRounds, signal);
    } else {
      const end = await untilEmpty(clock.now() + pollMs);
      if (end) return end === 'empty' ? undefined : end;
    }
  }
  return undefined;
}

/** After these ends of a poll, nothing more can be read now. */
const isRead: readonly string[] = ['up-to-date', 'fault', 'unknown-feed'];

/** Whether waiting is enough to end the fault. */
const isPause = ({ code }: BridgeFault): boolean =>
  code === 'paused' || code === 'rate-limited' || code === 'account-paused';

/** Whether the run must not wait for the fault to end; it waits for any pause that the service asked for. */
const isLongFault = ({ policy, code, retryAfterMs = 0 }: BridgeFault): boolean =>
  policy.needsAttention || (code !== 'paused' && code !== 'rate-limited' && retryAfterMs > longestPauseMs);

/** A stop and an operator's pause are reported separately. Another feed than that of the adverts stops no account. */
const isReportedElsewhere = (feed: string, { code, policy }: BridgeFault): boolean =>
  code === 'operator-paused' || (feed === 'adverts' && policy.account === 'stopped');

/** Why feeds of partner accounts that are not stopped were not read to their end; each message names the account. */
function faultsOf({ polls, paused }: DrainReport, nowMs: number): BridgeFault[] {
  const failed = polls.flatMap((poll) =>
    poll.end === 'fault' && !isReportedElsewhere(poll.feed, poll.fault)
      ? [withAccountName(poll.partnerAccount, poll.fault)]
      : [],
  );
  const notPolled = paused
    .filter(({ fault }) => fault !== 'operator-paused')
    .map(({ partnerAccount, fault, reason, untilMs }) =>
      withAccountName(partnerAccount, new BridgeFault(fault, reason, { retryAfterMs: untilMs - nowMs })),
    );
  return [...failed, ...notPolled];
}

const withAccountName = (partnerAccount: string, fault: BridgeFault): BridgeFault =>
  new BridgeFault(fault.code, `partner account ${partnerAccount}: ${fault.message}`, fault);

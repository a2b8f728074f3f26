/**
 * Decides how long a message waits after a fault and when it is given up, both by the kind of fault (`deadLettered` in
 * shared/domain/faults.ts). Other steps ask for their own delays.
 */
import type { DeadLetter } from '../../shared/contract/messages.ts';
import { metrics } from '../../shared/contract/names.ts';
import { objectKeyOf } from '../../shared/domain/advert-event.ts';
import { toInstant } from '../../shared/domain/clock.ts';
import { backoffMs } from '../../shared/domain/concurrency.ts';
import { type BridgeFault, countsTries, isDeferred } from '../../shared/domain/faults.ts';
import { isOfService } from '../../shared/partner-api/transport.ts';
import type { Delivery, Settlement } from '../../shared/ports/queue.ts';
import type { AdvertRow } from '../../shared/state/advert-histories.ts';
import { longestOwnMs } from '../../shared/state/aside.ts';
import { type AdvertDeps, firstRow, type Group } from './advert.ts';

/** Delays in the queue: before the first repetition, and after faults that are not about the advert. */
const inQueue = { baseMs: 1_000, capMs: 300_000 };
/** Waits outside the queue: the first one, doubled each time up to the longest. */
const aside = { baseMs: 30_000, capMs: longestOwnMs };
/** The longest wait outside the queue that the service may ask for in its answer about one advert. */
const longestWaitMs = 6 * 3_600_000;

/** The first receives lengthen no delay, because short holds, conflicts and confirmations cause some of them. */
const freeReceives = 40;
/** With these values, no message has more than 200 receives in a day (test: redelivery.test.ts). */
const receiveBackoff = { baseMs: 1_000, capMs: 900_000 };

/** The minimum delay of a message after this many receives, ms. */
function minDelayMs(receives: number, random: () => number): number {
  if (receives <= freeReceives) return 0;
  return backoffMs(receives - freeReceives, { ...receiveBackoff, random: () => 0.85 + 0.15 * random() });
}

/** Sends all deliveries back to the queue after `askedMs`, or later if they were received often. */
export const sendBack = (group: readonly Delivery[], askedMs: number, random: () => number): Settlement[] =>
  group.map((delivery) => ({
    delivery,
    // Planted fault: delay-does-not-grow
    verdict: { kind: 'retry', delayMs: Math.max(askedMs, minDelayMs(delivery.receives, random)) },
  }));

/** Asks for the advert again after `waitMs`: its messages wait outside the queue if they may not be hidden for so long. */
export function askAgain(deps: AdvertDeps, group: Group, waitMs: number): Settlement[] {
  const { random, settings } = deps;
  return waitMs <= settings.longestHiddenMs
    ? sendBack(group, waitMs, random)
    : waitAside(deps, group, waitMs);
}

/** Asks for the advert again after `waitMs`, in which its messages are outside the queue. */
export function waitAside({ clock }: AdvertDeps, group: Group, waitMs: number): Settlement[] {
  const wait = { dueMs: clock.now() + waitMs, forMs: waitMs };
  return group.map((delivery) => ({ delivery, verdict: { kind: 'hold', wait } }));
}

/**
 * Sends an advert's messages back with a delay, or dead-letters the oldest and sends the others back. Never rejects.
 *
 * @param options.isAlike the last adverts of its account have all failed: it waits until one of them is answered well
 */
export async function afterFault(
  deps: AdvertDeps,
  group: Group,
  fault: BridgeFault,
  { isAlike = false } = {},
): Promise<Settlement[]> {
  const { observer, clock, random, settings } = deps;
  const [head, ...others] = group;
  const { retryAfterMs = 0 } = fault;
  const { partnerAccount, correlationId } = head.message;
  const tries = await countTry(deps, head, fault).catch(() => undefined);
  // What may pass ages by its own waits if the service failed, otherwise by its time in the queue.
  const inQueueMs = clock.now() - head.sentAt;
  // No delay is longer than this cap, so a greater age means that a clock is ahead.
  const knownMs = Math.min(inQueueMs, head.receives * receiveBackoff.capMs);
  const ageMs = isOfService(fault) ? (head.message.failed?.waitedMs ?? 0) : knownMs;
  const isOld = !isAlike && ageMs >= settings.maxAgeMs;
  const reported = { fault: fault.code, reason: fault.message };
  const about = { partnerAccount, advertId: objectKeyOf(head.message), correlationId };
  const fields = { ...about, ...reported, error: fault.cause };
  // If the row could not be written, the message comes back: without either, nothing would show that the advert was listed.
  if (tries !== undefined && (await isGivenUp(deps, group, { fault, tries, isOld }).catch(() => false))) {
    observer.error('message dead-lettered', fields);
    const deadLetter = deadLetterOf(head, reported, clock.now());
    // The others go back without a delay, even if they were received often: with one, only one of them would leave the
    // queue every 15 minutes.
    const atOnce = { kind: 'retry', delayMs: 0 } as const;
    return [
      { delivery: head, verdict: { kind: 'dead-letter', deadLetter } },
      // Planted fault: others-done-with-dead-letter
      ...others.map((delivery) => ({ delivery, verdict: atOnce })),
    ];
  }
  observer.warn('advert not settled: it is tried again', fields);
  if (fault.policy.needsAttention) observer.count(metrics.needsAttention, 1);
  // The queue would lose it in the end: the drain sends it again, as a new message.
  if (tries !== undefined && inQueueMs >= settings.maxAgeMs && isDeferred(fault.code))
    return group.map((delivery) => ({ delivery, verdict: { kind: 'hold' } }));
  // Only half of the delay is random, so that the tries are not used up within a moment.
  const half = () => 0.5 + random() / 2;
  const { failed } = head.message;
  // Rule: failed-leaves-the-queue
  if (
    isAlike ||
    (isOfService(fault) && (failed || head.receives > 1 || retryAfterMs > settings.longestHiddenMs))
  ) {
    // Rule: waits-for-a-good-answer
    const ownMs = isAlike ? 0 : backoffMs((failed?.times ?? 0) + 1, { ...aside, random: half });
    const forMs = Math.max(ownMs, Math.min(retryAfterMs, longestWaitMs));
    const failedAt = clock.now();
    const waits = forMs > 0 && { wait: { dueMs: failedAt + forMs, forMs } };
    const verdict = { kind: 'hold', ...waits, ...(isAlike && { failedAt }) } as const;
    return group.map((delivery) => ({ delivery, verdict }));
  }
  // An operator may end a wait that the service asked for, but no message that is hidden can be shown early.
  // Planted fault: delay-does-not-grow
  const delayMs = Math.max(
    backoffMs(head.receives, { ...inQueue, random: half }),
    Math.min(retryAfterMs, settings.longestHiddenMs),
  );
  return sendBack(group, delayMs, random);
}

/** An operator has the answer believed. */
export const isBelieved = (group: Group): boolean => group.some(({ message }) => message.believed === true);

/** Whether the message is given up after so many tries. @param isOld what may pass has waited for as long as any may */
async function isGivenUp(
  deps: AdvertDeps,
  group: Group,
  { fault, tries, isOld }: { readonly fault: BridgeFault; readonly tries: number; readonly isOld: boolean },
): Promise<boolean> {
  if (isBelieved(group) && isOfService(fault)) return true;
  switch (fault.policy.deadLettered) {
    case 'at-once':
      return true;
    case 'at-second':
      return tries >= 2;
    case 'by-tries':
      return tries >= deps.settings.advertTries;
    case 'by-age':
      // Rule: age-needs-a-witness
      return isOld && (!isOfService(fault) || hasWitness(deps, group[0], deps.clock.now() - longestOwnMs));
    // Planted fault: aged-while-paused
    case 'never':
      return false;
  }
}

/** A look at another advert of the account may take so long. */
const witnessMs = 5_000;

/** Whether another advert of the account was answered well since then: otherwise the service may be failing for all. */
const hasWitness = ({ witness, clock, settings }: AdvertDeps, { message }: Group[0], since: number) =>
  witness.isOtherWell(message, since, clock.now() + Math.min(witnessMs, settings.fetchMs));

/**
 * Whether faults of the advert itself, of any kind, have lasted for as long as a message may wait: then they count without
 * a witness, even while all adverts of the account fail. Each try stands for a quarter of an hour at most, for a clock may
 * be ahead.
 */
function hasLasted({ clock, settings }: AdvertDeps, { message }: Group[0], failedAt: number): boolean {
  const { times = 0 } = message.failed ?? {};
  // Rule: own-fault-is-believed-in-the-end
  return Math.min(clock.now() - failedAt, times * longestOwnMs) >= settings.maxAgeMs;
}

/**
 * Counts the try in the advert's row; the row also shows that the advert was listed, even before its first event. Only
 * faults of the advert itself are counted, each kind anew; of the others, the first answer of the service is noted. An
 * answer of the service is counted only if another advert of the account was answered well since the try before it.
 *
 * @returns the number of tries, this one included; 0 if this one does not count, infinite if it needs no others
 */
async function countTry(deps: AdvertDeps, head: Group[0], fault: BridgeFault): Promise<number> {
  const { advertHistories, clock } = deps;
  const stored = await advertHistories.read(head.message);
  const row = stored ?? firstRow;
  const { tries: known = 0, failedAt = 0 } = row;
  const write = (change: Partial<AdvertRow>) => advertHistories.write(head.message, { ...row, ...change });
  if (!countsTries(fault.code)) {
    if (!isOfService(fault)) {
      if (!stored) await write({});
      return 0;
    }
    // What counts without a witness has lasted, with nothing else between.
    if (known > 0) await write({ failedAt: clock.now() });
    else if (row.fault === undefined) await write({ fault: fault.code });
    return 0;
  }
  // Rule: try-needs-a-witness
  if (known > 0 && isOfService(fault) && !(await hasWitness(deps, head, failedAt)))
    return hasLasted(deps, head, failedAt) ? Number.POSITIVE_INFINITY : 0;
  // Rule: each-kind-counts-anew
  const tries = row.fault === fault.code ? known + 1 : 1;
  await write({ tries, fault: fault.code, failedAt: clock.now() });
  return tries;
}

/** @param fault kind of the fault; `reason` explains in words why the message is dead-lettered */
export const deadLetterOf = (
  { message, about, receives }: Delivery,
  { fault, reason }: Pick<DeadLetter, 'fault' | 'reason'>,
  nowMs: number,
): DeadLetter => ({
  partnerAccount: (message ?? about)?.partnerAccount ?? null,
  advertId: message ? objectKeyOf(message) : (about?.advertId ?? null),
  fault,
  // The path of a request contains the ID, and the service may repeat it: without it, reasons can be grouped.
  reason: reason
    .split(/\b/)
    .map((word) => (word === message?.advertId ? 'ADVERT' : word))
    .join(''),
  at: toInstant(nowMs),
  receives,
  message: message ?? null,
});

/** What becomes of an advert's messages that could not be settled, and what its row has to say before one leaves the queue. */
import type { DeadLetter } from '../../shared/contract/messages.ts';
import { metrics } from '../../shared/contract/names.ts';
import type { PartnerError } from '../../shared/domain/faults.ts';
import type { AdvertHistories, AdvertRow } from '../../shared/ports/advert-histories.ts';
import type { Settlement } from '../../shared/ports/deliveries.ts';
import {
  type AdvertDeps,
  firstRow,
  type Group,
  keyOf,
  type MessageDelivery,
  maxConflicts,
  nextRow,
} from './advert.ts';
import { deadLetterOf, isGivenUp, oftenDeliveredLetter } from './dead-letter.ts';
import { defaultLongestHiddenMs, delayAfter, sendBack } from './redelivery.ts';

/** Whether messages that met the fault are to wait outside the queue: for a person, or for the end of a long pause. */
export type MustWait = (fault: PartnerError) => Promise<boolean>;

interface Failed {
  /** The row as it was read before the fault. */
  readonly row: AdvertRow;
  readonly fault: PartnerError;
  readonly mustWait: MustWait;
}

/**
 * A fault sends the messages back, parks them, or ends the life of the oldest; the others go back even then.
 * Never rejects.
 */
export async function afterFault(
  deps: AdvertDeps,
  group: Group,
  { row, fault, mustWait }: Failed,
): Promise<Settlement[]> {
  const { observer, clock, random, settings } = deps;
  const head = group[0];
  const { partnerAccount, advertId, correlationId } = head.message;
  // Where it cannot be told, the messages wait in the queue and it is asked again.
  if (await mustWait(fault).catch(() => false)) return park(deps, group);

  const ownFault = fault.policy.deadLettered !== 'by-age';
  const tries = ownFault ? (row.tries ?? 0) + 1 : 0;
  const fields = {
    partnerAccount,
    advertId,
    correlationId,
    fault: fault.code,
    reason: fault.message,
    error: fault.cause,
  };
  const { longestHiddenMs = defaultLongestHiddenMs } = settings;
  const delayMs = delayAfter(fault, { attempt: ownFault ? tries : head.receives, longestHiddenMs, random });
  if (isGivenUp(fault, head, { tries, nowMs: clock.now(), settings })) {
    const letter = deadLetterOf(head, fault, clock.now());
    const settlements = await deadLetterHead(deps, group, letter, delayMs);
    if (settlements[0]?.verdict.kind === 'dead-letter') observer.error('message dead-lettered', fields);
    return settlements;
  }
  observer.warn('advert not settled: it is tried again', fields);
  if (fault.policy.needsAttention) observer.count(metrics.needsAttention, 1);
  // A conflict or an error here costs one more try, nothing else.
  if (ownFault) await noteTry(deps, group, tries).catch(() => undefined);
  return sendBack(group, delayMs, random);
}

/** For a message that came too often, before any work that may be what fails. Never rejects. */
export async function giveUp(deps: AdvertDeps, group: Group): Promise<Settlement[]> {
  const letter = oftenDeliveredLetter(group[0], deps.clock.now());
  const { partnerAccount, advertId, fault, reason } = letter;
  deps.observer.error('message dead-lettered', { partnerAccount, advertId, fault, reason });
  return deadLetterHead(deps, group, letter, 0);
}

/** @param retryMs how long all of them stay away when the debt could not be written */
async function deadLetterHead(
  { histories, random }: AdvertDeps,
  group: Group,
  letter: DeadLetter,
  retryMs: number,
): Promise<Settlement[]> {
  const [head, ...others] = group;
  // The event that the row stands for may be refused still: whoever comes next must publish it first.
  const owed = await markOwed(histories, head).catch(() => false);
  if (!owed) return sendBack(group, retryMs, random);
  return [{ delivery: head, verdict: { kind: 'dead-letter', letter } }, ...sendBack(others, 0, random)];
}

/**
 * All of them leave the queue until they are released (functions/drain/release.ts). Never rejects.
 *
 * A worker of an earlier delivery may still be at it, and a row written earlier may stand for an event that the bus has
 * refused: as before a dead letter the row says so first. Of messages received for the first time there is neither.
 */
export async function park({ histories, random }: AdvertDeps, group: Group): Promise<Settlement[]> {
  const isRedelivered = group.some(({ receives }) => receives > 1);
  const mayLeave = !isRedelivered || (await markOwed(histories, group[0]).catch(() => false));
  if (!mayLeave) return sendBack(group, parkRetryMs, random);
  return group.map((delivery) => ({ delivery, verdict: { kind: 'park' } }));
}

const parkRetryMs = 5_000;

/** Counts a fault of the advert's own, keeping the row's debt as it is. */
async function noteTry({ histories }: AdvertDeps, group: Group, tries: number): Promise<void> {
  const head = group[0];
  const key = keyOf(head.message);
  const row = (await histories.read(key)) ?? firstRow;
  if (row.position > head.position) return;
  await histories.write(key, { ...row, tries, position: head.position, version: row.version + 1 });
}

/** @returns whether the debt is written: only then may the message leave the queue */
async function markOwed(histories: AdvertHistories, head: MessageDelivery): Promise<boolean> {
  const key = keyOf(head.message);
  for (let conflicts = 0; conflicts < maxConflicts; conflicts += 1) {
    const row = (await histories.read(key)) ?? firstRow;
    if (row.position > head.position) return false;
    if (await histories.write(key, nextRow(row, head.position, { owed: true }))) return true;
  }
  return false;
}

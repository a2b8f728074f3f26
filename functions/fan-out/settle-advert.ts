import type { ChangedAdvert } from '../../shared/contract/messages.ts';
import { metrics } from '../../shared/contract/names.ts';
import { advertEvent } from '../../shared/domain/advert-event.ts';
import type { Clock } from '../../shared/domain/clock.ts';
import { asFault, PartnerFault } from '../../shared/domain/faults.ts';
import type { EventPublisher, Observer } from '../../shared/domain/ports.ts';
import { beforeAll, type Position } from '../../shared/domain/position.ts';
import { deadLetterOf, delayOf, isHopeless, type RetrySettings } from './dead-letter.ts';
import type {
  AdvertHistories,
  AdvertKey,
  AdvertReader,
  AdvertRow,
  Delivery,
  Outcome,
  Settlement,
  Verdict,
} from './ports.ts';

export interface AdvertDeps {
  readonly histories: AdvertHistories;
  readonly adverts: AdvertReader;
  readonly events: EventPublisher;
  readonly observer: Observer;
  readonly clock: Clock;
  readonly random: () => number;
  readonly settings: RetrySettings & {
    readonly confirmUnavailableSeconds: number;
    /** One fetch, retries included, takes no longer: a hanging advert does not burn its neighbours' time. */
    readonly fetchMs: number;
  };
}

export type MessageDelivery = Delivery & { readonly message: ChangedAdvert };

/** One advert's deliveries, oldest first. */
export type Group = readonly [head: MessageDelivery, ...rest: MessageDelivery[]];

/** What one look at an advert came to; each names the row it leaves behind. */
type Look =
  | { readonly kind: 'conflict' }
  | { readonly kind: 'outdated' }
  | { readonly kind: 'unconfirmed'; readonly delayMs: number }
  | { readonly kind: 'settled'; readonly outcome: Outcome };

/** What the row was when it was read, for the dead letter that may follow. */
interface Attempt {
  row: AdvertRow;
}

/** An expired delivery's message is with another worker already: a moment later it is settled. */
const outdatedDelayMs = 1_000;
const mostConflicts = 20;

/**
 * Brings one advert's history up to date and says what becomes of its messages: they succeed or go back together.
 * Never rejects for a fault of the service, the tables or the bus: that becomes a verdict.
 */
export async function settleAdvert(
  deps: AdvertDeps,
  group: Group,
  deadlineMs: number,
): Promise<Settlement[]> {
  const { clock } = deps;
  const head = group[0];
  const attempt: Attempt = { row: firstRow };
  const all = (verdict: Verdict): Settlement[] => group.map((delivery) => ({ delivery, verdict }));
  try {
    for (let conflicts = 0; conflicts < mostConflicts && clock.now() < deadlineMs; conflicts += 1) {
      const look = await lookOnce(
        deps,
        group,
        attempt,
        Math.min(deadlineMs, clock.now() + deps.settings.fetchMs),
      );
      if (look.kind === 'outdated') return all({ kind: 'again', delayMs: outdatedDelayMs });
      if (look.kind === 'unconfirmed') return all({ kind: 'again', delayMs: look.delayMs });
      if (look.kind === 'settled') {
        return group.map((delivery) => ({
          delivery,
          verdict: { kind: 'done', outcome: delivery === head ? look.outcome : 'coalesced' },
        }));
      }
    }
    throw new PartnerFault('passing', 'no time left for this advert', { retryAfterMs: outdatedDelayMs });
  } catch (error) {
    return await afterFault(deps, group, attempt.row, asFault(error));
  }
}

const firstRow: AdvertRow = { sequence: 0, status: null, position: beforeAll, owed: false, version: 0 };

const keyOf = ({ partnerAccount, generation, advertId }: ChangedAdvert): AdvertKey => ({
  partnerAccount,
  generation,
  advertId,
});

/** Read, publish what is owed, fetch, write, publish: in this order, for the reasons in the decision. */
async function lookOnce(
  deps: AdvertDeps,
  group: Group,
  attempt: Attempt,
  fetchDeadlineMs: number,
): Promise<Look> {
  const { histories, events } = deps;
  const { message, position } = group[0];
  const key = keyOf(message);
  // Always before the fetch: a status fetched earlier must not get a later sequence number.
  const row = (await histories.read(key)) ?? firstRow;
  attempt.row = row;
  if (row.position > position) return { kind: 'outdated' };

  const ownMark = group.some((delivery) => delivery.message.key === row.by);
  if ((row.owed || ownMark) && row.envelope !== undefined) await events.publish(row.envelope);

  // Also after the line above: the advert may have changed since the fetch that the mark stands for.
  const observed = await observe(deps, message, fetchDeadlineMs);
  const write = (change: Partial<AdvertRow>) => histories.write(key, nextRow(row, position, change));

  if (row.sequence > 0 && observed.status === row.status) {
    const redelivered = group.some(({ receives }) => receives > 1);
    // Leaves a trace of this delivery, so that a late worker of an earlier one conflicts.
    if ((redelivered || row.owed || isTroubled(row)) && !(await write({}))) return { kind: 'conflict' };
    return { kind: 'settled', outcome: ownMark ? outcomeOf(row.status) : 'unchanged' };
  }

  if (observed.status === null) {
    const waitMs = confirmationWait(deps, row, observed.receivedAt);
    if (waitMs > 0) {
      const missingSince = row.missingSince ?? observed.receivedAt;
      if (row.missingSince === undefined && !(await write({ missingSince }))) return { kind: 'conflict' };
      return { kind: 'unconfirmed', delayMs: waitMs };
    }
  }

  const sequence = row.sequence + 1;
  const event = advertEvent(message, {
    status: observed.status,
    previousStatus: row.status,
    sequence,
    observedAt: observed.receivedAt,
  });
  const envelope = JSON.stringify(event);
  if (!(await write({ sequence, status: observed.status, envelope, by: message.key })))
    return { kind: 'conflict' };
  await events.publish(envelope);
  return { kind: 'settled', outcome: outcomeOf(observed.status) };
}

const outcomeOf = (status: string | null): Outcome => (status === null ? 'unavailable' : 'events');

const isTroubled = ({ tries, missingSince }: AdvertRow): boolean =>
  tries !== undefined || missingSince !== undefined;

/** Every write raises the version and pays what was owed, unless it says otherwise. */
function nextRow(row: AdvertRow, position: Position, change: Partial<AdvertRow>): AdvertRow {
  const { tries: _tries, missingSince: _missingSince, ...kept } = row;
  return { ...kept, owed: false, ...change, position, version: row.version + 1 };
}

async function observe(
  { adverts, clock }: AdvertDeps,
  { partnerAccount, generation, advertId }: ChangedAdvert,
  deadlineMs: number,
): Promise<{ readonly status: string | null; readonly receivedAt: number }> {
  try {
    return await adverts.readAdvert(partnerAccount, advertId, { deadlineMs, generation });
  } catch (error) {
    if (error instanceof PartnerFault && error.code === 'not-found')
      return { status: null, receivedAt: clock.now() };
    throw error;
  }
}

/** How long until an advert that the service does not know may be called unavailable. */
function confirmationWait({ settings }: AdvertDeps, { missingSince }: AdvertRow, nowMs: number): number {
  const confirmMs = settings.confirmUnavailableSeconds * 1000;
  return missingSince === undefined ? confirmMs : Math.max(0, missingSince + confirmMs - nowMs);
}

/** A fault either sends the messages back, or ends the life of the oldest; the others go back even then. */
async function afterFault(
  deps: AdvertDeps,
  group: Group,
  row: AdvertRow,
  fault: PartnerFault,
): Promise<Settlement[]> {
  const { histories, observer, clock, random, settings } = deps;
  const head = group[0];
  const { partnerAccount, advertId, correlationId } = head.message;
  const ownFault = fault.policy.deadLettered === 'by-tries';
  const tries = ownFault ? (row.tries ?? 0) + 1 : 0;
  const back = { kind: 'again', delayMs: delayOf(fault, ownFault ? tries : head.receives, random) } as const;
  const fields = {
    partnerAccount,
    advertId,
    correlationId,
    fault: fault.code,
    reason: fault.message,
    error: fault.cause,
  };
  const allBack = () => group.map((delivery) => ({ delivery, verdict: back }));

  if (!isHopeless(fault, head, { tries, nowMs: clock.now(), settings })) {
    observer.warn('advert not settled: it is tried again', fields);
    if (fault.policy.needsAttention) observer.count(metrics.needsAttention, 1);
    // A conflict here costs one more try, nothing else.
    if (ownFault) await noteTry(deps, group, tries);
    return allBack();
  }

  // The event that the row stands for may be refused still: whoever comes next must publish it first.
  const owed = await markOwed(histories, head).catch(() => false);
  if (!owed) return allBack();
  observer.error('message dead-lettered', fields);
  const letter = deadLetterOf(head, fault, clock.now());
  return group.map((delivery) => ({
    delivery,
    verdict: delivery === head ? { kind: 'dead-letter', letter } : { kind: 'again', delayMs: 0 },
  }));
}

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
  for (let conflicts = 0; conflicts < mostConflicts; conflicts += 1) {
    const row = (await histories.read(key)) ?? firstRow;
    if (row.position > head.position) return false;
    if (await histories.write(key, nextRow(row, head.position, { owed: true }))) return true;
  }
  return false;
}

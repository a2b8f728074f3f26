import type { ChangedAdvert } from '../../shared/contract/messages.ts';
import { advertEvent } from '../../shared/domain/advert-event.ts';
import { copyFields } from '../../shared/domain/event-fields.ts';
import { PartnerError } from '../../shared/domain/faults.ts';
import type { AdvertRow } from '../../shared/ports/advert-histories.ts';
import type { ObservedAdvert } from '../../shared/ports/advert-reader.ts';
import type { Outcome, Settlement } from '../../shared/ports/deliveries.ts';
import { type AdvertDeps, firstRow, type Group, keyOf, maxConflicts, nextRow } from './advert.ts';
import { sendBack } from './redelivery.ts';

type AttemptResult =
  /** Another process changed or removed the row after this attempt had read it with this version. */
  | { readonly kind: 'conflict'; readonly version: number }
  /** The row was written for a later delivery, so this delivery has expired. */
  | { readonly kind: 'outdated' }
  /** The service does not know the advert; this must be confirmed by a second fetch after `delayMs`. */
  | { readonly kind: 'unconfirmed'; readonly delayMs: number }
  | { readonly kind: 'settled'; readonly outcome: Outcome };

/** Another worker already has the message of an expired delivery and will settle it within a moment. */
const outdatedDelayMs = 1_000;

/**
 * Brings one advert's history up to date and decides about its messages, which succeed or go back together.
 *
 * @throws {PartnerError} or the errors of the tables and the bus
 */
export async function settleAdvert(
  deps: AdvertDeps,
  group: Group,
  deadlineMs: number,
): Promise<Settlement[]> {
  const { clock, random, settings } = deps;
  const head = group[0];
  let version = 0;
  for (let conflicts = 0; conflicts < maxConflicts && clock.now() < deadlineMs; conflicts += 1) {
    const fetchDeadlineMs = Math.min(deadlineMs, clock.now() + settings.fetchMs);
    const result = await attempt(deps, group, { fetchDeadlineMs, minVersion: version });
    if (result.kind === 'conflict') version = result.version;
    if (result.kind === 'outdated') return sendBack(group, outdatedDelayMs, random);
    if (result.kind === 'unconfirmed') return sendBack(group, result.delayMs, random);
    if (result.kind === 'settled') {
      return group.map((delivery) => ({
        delivery,
        verdict: { kind: 'done', outcome: delivery === head ? result.outcome : 'coalesced' },
      }));
    }
  }
  throw new PartnerError('transient', 'no time left for this advert', { retryAfterMs: outdatedDelayMs });
}

/**
 * Reads the row, publishes an owed event, fetches, writes, publishes. docs/decisions/0001-fan-out-protocol.md explains
 * this order.
 */
async function attempt(
  deps: AdvertDeps,
  group: Group,
  { fetchDeadlineMs, minVersion }: { readonly fetchDeadlineMs: number; readonly minVersion: number },
): Promise<AttemptResult> {
  const { histories, events, settings } = deps;
  const { message, position } = group[0];
  const key = keyOf(message);
  // The row is always read before the fetch: a status fetched earlier must not get a later sequence number.
  // Planted faults: row-read-after-fetch, no-position-fence, own-mark-ignored, no-fetch-after-own-mark,
  // repeat-made-anew
  const row = (await histories.read(key)) ?? firstRow;
  if (row.version < minVersion) throw historyRemoved();
  if (row.position > position) return { kind: 'outdated' };

  const ownMark = group.some((delivery) => delivery.message.key === row.by);
  if ((row.owed || ownMark) && row.envelope !== undefined) await events.publish(row.envelope);

  // Fetch also after publishing the stored event: the advert may have changed since the fetch for that event.
  // Planted faults: row-read-after-fetch, status-kept-over-conflict
  const observed = await observe(deps, message, fetchDeadlineMs);
  const write = (change: Partial<AdvertRow>) => histories.write(key, nextRow(row, position, change));

  if (row.sequence > 0 && observed.status === row.status) {
    const redelivered = group.some(({ receives }) => receives > 1);
    // This write records the delivery's position, so that a late worker with an earlier delivery gets a conflict.
    // Planted fault: no-trace-of-unchanged
    if ((redelivered || row.owed || isTroubled(row)) && !(await write({}))) return conflictOver(row);
    return { kind: 'settled', outcome: ownMark ? outcomeOf(row.status) : 'unchanged' };
  }

  if (observed.status === null) {
    const waitMs = confirmationWait(deps, row, observed.receivedAt);
    if (waitMs > 0) {
      const missingSince = row.missingSince ?? observed.receivedAt;
      if (row.missingSince === undefined && !(await write({ missingSince }))) return conflictOver(row);
      return { kind: 'unconfirmed', delayMs: waitMs };
    }
  }

  // Every event gets a number, even if it is not published. The copied fields come from the same answer as the status.
  // Planted faults: only-published-counted, fields-of-first-answer
  const sequence = row.sequence + 1;
  const event = advertEvent(message, {
    bridge: settings.bridge,
    status: observed.status,
    previousStatus: row.status,
    sequence,
    observedAt: observed.receivedAt,
    ...(settings.eventFields && { copied: copyFields(observed.advert, settings.eventFields) }),
  });
  const envelope = JSON.stringify(event);
  if (!(await write({ sequence, status: observed.status, envelope, by: message.key })))
    return conflictOver(row);
  await events.publish(envelope);
  return { kind: 'settled', outcome: outcomeOf(observed.status) };
}

const conflictOver = ({ version }: AdvertRow): AttemptResult => ({ kind: 'conflict', version });

/** A history must not begin again within its generation, because it would assign its sequence numbers twice. */
const historyRemoved = () =>
  new PartnerError('generation-over', 'the history of the partner account was removed meanwhile');

const outcomeOf = (status: string | null): Outcome => (status === null ? 'unavailable' : 'events');

/** Whether the row records faults or a missing advert; a successful answer clears these fields. */
const isTroubled = ({ tries, missingSince }: AdvertRow): boolean =>
  tries !== undefined || missingSince !== undefined;

async function observe(
  { adverts, clock }: AdvertDeps,
  { partnerAccount, generation, feed, advertId }: ChangedAdvert,
  deadlineMs: number,
): Promise<Omit<ObservedAdvert, 'status'> & { readonly status: string | null }> {
  try {
    return await adverts.readAdvert(partnerAccount, advertId, { deadlineMs, generation, feed });
  } catch (error) {
    if (error instanceof PartnerError && error.code === 'not-found')
      return { status: null, receivedAt: clock.now() };
    throw error;
  }
}

/** Time until an advert that the service does not know may be published as unavailable. */
function confirmationWait({ settings }: AdvertDeps, { missingSince }: AdvertRow, nowMs: number): number {
  const confirmMs = settings.confirmUnavailableSeconds * 1000;
  return missingSince === undefined ? confirmMs : Math.max(0, missingSince + confirmMs - nowMs);
}

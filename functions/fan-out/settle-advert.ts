import type { AdvertEvent } from '../../shared/contract/events.ts';
import type { ChangedAdvert } from '../../shared/contract/messages.ts';
import { metrics } from '../../shared/contract/names.ts';
import { advertEvent, copyFields, isPublished } from '../../shared/domain/advert-event.ts';
import { clockToleranceMs, isLasting } from '../../shared/domain/clock.ts';
import { BridgeFault, policyOf } from '../../shared/domain/faults.ts';
import type { ObservedAdvert } from '../../shared/partner-api/readings.ts';
import type { Outcome, Settlement } from '../../shared/ports/queue.ts';
import type { AdvertRow } from '../../shared/state/advert-histories.ts';
import { type AdvertDeps, firstRow, type Group, isOver } from './advert.ts';
import { askAgain, isBelieved, waitAside } from './redelivery.ts';

/** After so many conflicts, the messages go back: other workers are busy with the advert, and settle it in a moment. */
const maxConflicts = 20;
const conflictDelayMs = 1_000;
/** The longest wait between two looks at an advert that is said to be gone, while no other of its account is answered well. */
const longestLookMs = 300_000;
/** What was published as gone without a witness is looked at once more: perhaps the service did not know any advert. */
const lastLookMs = 3_600_000;

/**
 * Brings one advert's history up to date and decides about its messages, which succeed or go back together.
 *
 * @throws {BridgeFault} or the errors of the tables and the bus
 */
export async function settleAdvert(
  deps: AdvertDeps,
  group: Group,
  deadlineMs: number,
): Promise<Settlement[]> {
  const { clock, settings } = deps;
  for (let conflicts = 0; conflicts < maxConflicts && clock.now() < deadlineMs; conflicts += 1) {
    const fetchDeadlineMs = Math.min(deadlineMs, clock.now() + settings.fetchMs);
    const settled = await attempt(deps, group, fetchDeadlineMs);
    if (settled) return settled;
  }
  throw new BridgeFault('transient', 'no time left for this advert', { retryAfterMs: conflictDelayMs });
}

/**
 * Every attempt that settles its messages writes the row: the worker of an earlier delivery, which may still have an
 * older status, then gets a conflict. docs/decisions/0001-fan-out-protocol.md explains the order of the steps.
 *
 * @returns undefined after a conflict: another process changed or removed the row after this attempt had read it
 */
async function attempt(
  deps: AdvertDeps,
  group: Group,
  fetchDeadlineMs: number,
): Promise<Settlement[] | undefined> {
  const { advertHistories: histories, settings } = deps;
  const { message } = group[0];
  // The row is always read before the fetch: a status fetched earlier must not get a later sequence number.
  // Planted faults: row-read-after-fetch, pending-left-out, no-fetch-after-pending
  const stored = (await histories.read(message)) ?? firstRow;
  const row = stored.pending ? await publishPending(deps, message, stored) : stored;
  if (!row) return undefined;

  // Fetch also after publishing the pending event: the advert may have changed since the fetch for that event.
  // Planted faults: row-read-after-fetch, status-kept-over-conflict
  const observed = await observe(deps, group[0], isIll(row, group), fetchDeadlineMs);
  if (observed.status !== null)
    await deps.witness.answeredWell(message.partnerAccount, message.advertId, observed.receivedAt);
  // A successful answer ends the record of faults and of a missing advert.
  const { tries: _tries, fault: _fault, failedAt: _failedAt, missingSince, ...kept } = row;
  const write = (change: Partial<AdvertRow>) =>
    histories.write(message, { ...kept, ...change, by: message.key });

  if (row.sequence > 0 && observed.status === row.status) {
    const waitMs = suspiciousMs(settings.confirmUnchangedSeconds * 1000, row, group, observed.receivedAt);
    // Rule: unchanged-is-confirmed
    if (waitMs > 0) return askAgain(deps, group, waitMs);
    // Planted fault: no-trace-of-unchanged
    if (!(await write({}))) return undefined;
    return allDone(group, isEventOf(row, group) ? outcomeOf(row.status) : 'unchanged');
  }

  let isAlone = false;
  if (observed.status === null) {
    // A time to come was written before a clock was set back: the wait begins anew.
    const isKnown = missingSince !== undefined && missingSince <= observed.receivedAt + clockToleranceMs;
    const since = isKnown ? Math.min(missingSince, observed.receivedAt) : observed.receivedAt;
    const waitMs = since + settings.confirmUnavailableSeconds * 1000 - observed.receivedAt;
    if (waitMs > 0) {
      if (!isKnown && !(await write({ missingSince: since }))) return undefined;
      // Confirmed by a second fetch.
      return askAgain(deps, group, waitMs);
    }
    const isGone =
      settings.confirmUnavailableSeconds === 0 ||
      (await deps.witness.isGone(message, since, fetchDeadlineMs)) ||
      (isBelieved(group) && 'alone');
    if (!isGone) {
      reportUnwitnessed(deps, message);
      // Outside the queue, where it does not count as late.
      return waitAside(deps, group, Math.min(observed.receivedAt - since, longestLookMs));
    }
    isAlone = isGone === 'alone';
  }

  // Every event gets a number, even if it is not published. The copied fields come from the same answer as the status.
  // Planted faults: only-published-counted, fields-of-first-answer
  const sequence = row.sequence + 1;
  const event = advertEvent(message, {
    bridge: (await deps.partnerAccounts.recent(message.partnerAccount))?.bridge ?? settings.bridge,
    status: observed.status,
    previousStatus: row.status,
    sequence,
    observedAt: observed.receivedAt,
    ...(settings.eventFields && { copied: copyFields(observed.advert?.(), settings.eventFields) }),
  });
  const envelope = JSON.stringify(event);
  // Planted fault: pending-unrecorded
  const written = await write({ sequence, status: observed.status, envelope, pending: true });
  if (!written || !(await publishPending(deps, message, written))) return undefined;
  reportAudit(deps, group, row.status, observed.status);
  const done = allDone(group, outcomeOf(observed.status));
  // Rule: no-look-after-an-hour
  return isAlone ? [...askAgain(deps, [group[0]], lastLookMs), ...done.slice(1)] : done;
}

/**
 * Publishes the row's event, and then records that the bus has accepted it.
 *
 * @returns the row as written; undefined if another worker wrote first
 */
async function publishPending(
  { partnerAccounts, events, advertHistories, settings }: AdvertDeps,
  message: ChangedAdvert,
  row: AdvertRow,
): Promise<AdvertRow | undefined> {
  // Read after the row was written. A write may arrive after the histories were removed (`disconnect --forget`), and so
  // begin one again, whose sequence numbers were used.
  const account = await partnerAccounts.recent(message.partnerAccount);
  if (!account || isOver(account, message.generation))
    throw new BridgeFault('generation-over', `the history of ${message.partnerAccount} is being removed`);
  // The history contains the events that a setting keeps from the bus too, so these also use up sequence numbers.
  // Planted fault: repeat-made-anew
  if (row.envelope !== undefined && isPublished(JSON.parse(row.envelope), settings))
    await events.publish(row.envelope);
  return advertHistories.write(message, { ...row, pending: false });
}

/** Whether the row's event was written for one of these messages, in an earlier delivery. */
function isEventOf({ envelope }: AdvertRow, group: Group): boolean {
  if (envelope === undefined) return false;
  const { correlationId } = (JSON.parse(envelope) as AdvertEvent).detail.metadata;
  return group.some(({ message }) => message.correlationId === correlationId);
}

/**
 * How long it is too early to believe that nothing changed: the advert may come from a replica that is behind the feed.
 * Only the feed lists an advert because it has changed.
 */
function suspiciousMs(confirmMs: number, row: AdvertRow, group: Group, now: number): number {
  const suspicious = group.filter((one) => one.message.cause === 'feed' && !isEventOf(row, [one]));
  const ends = suspicious
    .map(({ message }) => Date.parse(message.listedAt) + confirmMs)
    .filter((untilMs) => isLasting(untilMs, confirmMs, now));
  return Math.min(confirmMs, Math.max(0, ...ends.map((untilMs) => untilMs - now)));
}

function reportUnwitnessed({ observer }: AdvertDeps, { partnerAccount, advertId }: ChangedAdvert): void {
  const message =
    'an advert is said to be gone, but no other of its account is answered well: it is looked at again';
  observer.warn(message, { partnerAccount, advertId });
}

/** Counts and names an advert that was published wrong. A group with another message is about a change on its way. */
function reportAudit(
  { observer }: AdvertDeps,
  group: Group,
  published: string | null,
  actual: string | null,
): void {
  if (!group.every(({ message }) => message.cause === 'audit')) return;
  const { partnerAccount, advertId } = group[0].message;
  observer.count(metrics.auditDifferences, 1);
  const message = 'an audit found that the latest event of an advert differed from the service';
  observer.warn(message, { partnerAccount, advertId, published, actual });
}

const allDone = (group: Group, outcome: Outcome): Settlement[] =>
  group.map((delivery) => ({
    delivery,
    verdict: { kind: 'done', outcome: delivery === group[0] ? outcome : 'coalesced' },
  }));

const outcomeOf = (status: string | null): Outcome => (status === null ? 'unavailable' : 'events');

/** Whether the advert has failed before: then others of its account go first where they go one at a time. */
const isIll = ({ fault }: AdvertRow, [{ message }]: Group): boolean =>
  message.failed !== undefined || policyOf(fault)?.mayBlame.includes('more') === true;

async function observe(
  { adverts, clock }: AdvertDeps,
  { message }: Group[0],
  isIll: boolean,
  deadlineMs: number,
): Promise<Omit<ObservedAdvert, 'status'> & { readonly status: string | null }> {
  const { partnerAccount, generation, feed, advertId } = message;
  const options = { deadlineMs, generation, feed, isIll };
  try {
    return await adverts.readAdvert(partnerAccount, advertId, options);
  } catch (error) {
    if (error instanceof BridgeFault && error.code === 'not-found')
      return { status: null, receivedAt: clock.now() };
    throw error;
  }
}

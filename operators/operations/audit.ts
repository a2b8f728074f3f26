/**
 * An audit sends published adverts through the bridge again: what was published right is found unchanged, and what
 * differs gets its next event, with the cause `audit`. So it repairs what it finds, and a change on its way does no harm.
 */
import type { AdvertEvent } from '../../shared/contract/events.ts';
import type { AdvertRow } from '../../shared/state/advert-histories.ts';
import type { AuditProgress, BackfillKey } from '../../shared/state/progress.ts';
import { type Bridge, isDelivering } from './bridge.ts';
import { type Walk, type WalkOptions, type WalkResult, walk } from './walk.ts';

/** Without a result for so long: longer than fan-out tries an advert that the service fails to return. */
const patienceMs = 5 * 60_000;
/** Few enough for about two write units a page, on the average, and many enough for a million adverts in 5,000 rows. */
const resultsInProgress = 200;
/** Without a consumer the audit sends this many adverts at most. */
const maxUndelivered = 1_000;

export async function audit(
  bridge: Bridge,
  options: WalkOptions<AuditProgress>,
): Promise<WalkResult<AuditProgress>> {
  const { clock, advertHistories, auditResults } = bridge;
  const { key } = options;
  const { maxRequestsPerSecond } = await bridge.settings();
  /** How long the last page takes at half of the rate: the other half is for live changes. */
  let paceMs = 0;
  let sentMs = clock.now();
  let lastResultMs = Number.NEGATIVE_INFINITY;
  const kind: Walk<AuditProgress> = {
    cause: 'audit',
    progresses: bridge.audits,
    replacesOther: true,
    begun: { equal: 0, differing: [], neverPublished: [], waiting: [], unsettled: [] },

    async look(before, isThrough) {
      const sinceSentMs = clock.now() - sentMs;
      const found = await withResults(bridge, key, before, sinceSentMs >= bridge.depthLagMs);
      const progress = await withRoom(bridge, key, found);
      const { waiting } = progress;
      if (waiting.length < before.waiting.length) lastResultMs = clock.now();
      if (waiting.length === 0) {
        const isDue = isThrough || sinceSentMs >= paceMs || !isDelivering(bridge);
        return { progress, next: isDue ? 'go-on' : 'wait' };
      }
      if (!isDelivering(bridge))
        return { progress, next: isThrough || waiting.length >= maxUndelivered ? 'stop' : 'go-on' };
      if (clock.now() - Math.max(sentMs, lastResultMs) < patienceMs) return { progress, next: 'wait' };
      if (lastResultMs < sentMs) return { progress, next: 'stop' };
      // The other adverts of the batch had a result: these alone hold the audit up.
      const unsettled = [...progress.unsettled, ...waiting.map(({ message }) => advertIdOf(message))];
      return { progress: { ...progress, waiting: [], unsettled }, next: 'go-on' };
    },

    async sent(progress, messages) {
      sentMs = clock.now();
      paceMs = (2_000 * Math.max(1, messages.length)) / maxRequestsPerSecond;
      const sent = messages.map(async ({ key: message, advertId }) => {
        const row = await advertHistories.read({ ...key, feed: 'adverts', advertId });
        return { message, by: row?.by };
      });
      return { ...progress, waiting: [...progress.waiting, ...(await Promise.all(sent))] };
    },
  };
  const { end, progress } = await walk(bridge, kind, options);
  return { end, progress: { ...progress, ...(await auditResults.all(key, progress)) } };
}

/** Moves many results from the progress to a row of their own. A process that dies before the progress is stored finds them again. */
async function withRoom(
  { auditResults }: Pick<Bridge, 'auditResults'>,
  key: BackfillKey,
  progress: AuditProgress,
): Promise<AuditProgress> {
  const { id, differing, neverPublished, unsettled, resultRows = {}, differed = 0 } = progress;
  if (differing.length + neverPublished.length + unsettled.length < resultsInProgress) return progress;
  if (progress.resultRows === undefined) await auditResults.removeOthers(key, progress);
  await auditResults.add(key, progress);
  return {
    ...progress,
    differing: [],
    neverPublished: [],
    unsettled: [],
    resultRows: { ...resultRows, [id]: (resultRows[id] ?? 0) + 1 },
    differed: differed + differing.length,
  };
}

/**
 * Adds the results of the messages that are settled: fan-out leaves the key of a message in the row of its advert. If
 * the queue is empty, the others are settled too, together with another message of the advert, or they were given up.
 */
async function withResults(
  { advertHistories, queue, bookKeeper, host }: Bridge,
  key: BackfillKey,
  progress: AuditProgress,
  isLagOver: boolean,
): Promise<AuditProgress> {
  const { partnerAccount, generation } = key;
  // The books of a folder are exact, and count what is aside too: it comes back.
  const left = async () =>
    host.kind === 'local'
      ? (await bookKeeper.read(partnerAccount, generation)).inFlight
      : queue.depth(partnerAccount);
  // This is read first: if nothing waits then, the rows that are read afterwards are final.
  const isEmpty = progress.waiting.length > 0 && isLagOver && (await left()) === 0;
  const looked = await Promise.all(
    progress.waiting.map(async (sent) => {
      const advertId = advertIdOf(sent.message);
      return { sent, advertId, row: await advertHistories.read({ ...key, feed: 'adverts', advertId }) };
    }),
  );
  const found = {
    equal: progress.equal,
    waiting: [] as AuditProgress['waiting'][number][],
    differing: [...progress.differing],
    neverPublished: [...progress.neverPublished],
    unsettled: [...progress.unsettled],
  };
  for (const { sent, advertId, row } of looked) {
    const { message, by } = sent;
    const isHandled =
      row !== undefined && row.tries === undefined && row.missingSince === undefined && !row.pending;
    // Planted fault: audit-before-settled
    if (isHandled && (row.by === message || (isEmpty && row.by !== by))) {
      const detail = eventFor(message, row)?.detail;
      if (!detail) found.equal += 1;
      else if (detail.metadata.sequence === 1) found.neverPublished.push(advertId);
      else
        found.differing.push({ advertId, published: detail.data.previousStatus, actual: detail.data.status });
    } else if (isEmpty) found.unsettled.push(advertId);
    else found.waiting.push(sent);
  }
  return { ...progress, ...found };
}

function eventFor(message: string, { envelope }: AdvertRow): AdvertEvent | undefined {
  if (envelope === undefined) return undefined;
  const event = JSON.parse(envelope) as AdvertEvent;
  const { cause, correlationId } = event.detail.metadata;
  return cause === 'audit' && message.startsWith(`${correlationId}:`) ? event : undefined;
}

const advertIdOf = (message: string): string => message.slice(message.indexOf(':') + 1);

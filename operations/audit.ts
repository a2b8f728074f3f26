/**
 * An audit sends published adverts through the bridge again: what was published right is found unchanged, and what
 * differs gets its next event, with the cause `audit`. So it repairs what it finds, and a change on its way does no harm.
 */
import { auditPaceMs } from '../functions/drain/audit-share.ts';
import type { AdvertEvent } from '../shared/contract/events.ts';
import type { AdvertRow } from '../shared/state/advert-histories.ts';
import type { AdvertSource, AuditProgress, BackfillKey } from '../shared/state/progress.ts';
import type { AuditedBridge } from './advert-sources.ts';
import type { Bridge } from './bridge.ts';
import { type Look, type Walk, type WalkedBridge, type WalkOptions, type WalkResult, walk } from './walk.ts';

/** Longer than fan-out tries an advert that the service fails to return. */
const patienceMs = 5 * 60_000;
/** Without a consumer the audit sends this many adverts at most. */
const maxUndelivered = 1_000;

const nothingFound = { equal: 0, differing: [], neverPublished: [], waiting: [], unsettled: [] };

/**
 * Runs an audit, or continues an interrupted one of the same source.
 *
 * @throws {BridgeFault} as `walk` does; the audit can be continued
 */
export async function audit(
  bridge: WalkedBridge & AuditedBridge & Pick<Bridge, 'audits' | 'isDelivering' | 'depthLagMs'>,
  key: BackfillKey,
  source: AdvertSource,
  options: WalkOptions<AuditProgress>,
): Promise<WalkResult<AuditProgress>> {
  const { clock } = bridge;
  const paceMs = auditPaceMs((await bridge.settings()).maxRequestsPerSecond);
  let sentMs = clock.now() - paceMs;
  let lastResultMs = Number.NEGATIVE_INFINITY;

  function nextOf(
    { waiting, listed, total }: AuditProgress,
    isThrough: boolean,
  ): Look<AuditProgress>['next'] | 'leave' {
    const sinceSentMs = clock.now() - sentMs;
    if (waiting.length === 0) {
      const isDue = isThrough || listed === total || sinceSentMs >= paceMs || !bridge.isDelivering();
      return isDue ? 'send' : 'wait';
    }
    if (!bridge.isDelivering()) return isThrough || waiting.length >= maxUndelivered ? 'stop' : 'send';
    if (sinceSentMs < patienceMs) return 'wait';
    return lastResultMs < sentMs ? 'stop' : 'leave';
  }

  return walk(
    bridge,
    {
      progresses: bridge.audits,
      lookMs: 500,
      cause: 'audit',
      otherSource: 'replace',
      first: (begun) => ({ ...begun, ...nothingFound }),

      async look(before, isThrough) {
        const isLagOver = clock.now() - sentMs >= bridge.depthLagMs;
        const results = await resultsOf(bridge, key, before.waiting, isLagOver);
        if (results.size > 0) lastResultMs = clock.now();
        const progress = withResults(before, results);
        const next = nextOf(progress, isThrough);
        if (next !== 'leave') return { progress, next };
        // The other adverts of the batch had a result: these alone hold the audit up.
        const unsettled = [
          ...progress.unsettled,
          ...progress.waiting.map(({ message }) => advertIdOf(message)),
        ];
        return { progress: { ...progress, waiting: [], unsettled }, next: 'send' };
      },

      async sent(progress, messages) {
        sentMs = clock.now();
        const sent = messages.map(async ({ key: message, advertId }) => {
          const row = await bridge.advertHistories.read({ ...key, feed: 'adverts', advertId });
          return { message, etag: row?.etag ?? 'absent' };
        });
        return { ...progress, waiting: [...progress.waiting, ...(await Promise.all(sent))] };
      },
    } satisfies Walk<AuditProgress>,
    key,
    source,
    options,
  );
}

/**
 * The rows of the messages that are settled: fan-out leaves the key of a message in the row of its advert. If the queue
 * is empty, the others are settled too, together with another message of the advert, or they were given up.
 */
async function resultsOf(
  { advertHistories, queue }: AuditedBridge & WalkedBridge,
  key: BackfillKey,
  waiting: AuditProgress['waiting'],
  isLagOver: boolean,
): Promise<Results> {
  const results = new Map<string, AdvertRow | 'given-up'>();
  // The depth is read first: if nothing waits then, the rows that are read afterwards are final.
  const isEmpty = waiting.length > 0 && isLagOver && (await queue.depth(key.partnerAccount)) === 0;
  await Promise.all(
    waiting.map(async ({ message, etag }) => {
      const row = await advertHistories.read({ ...key, feed: 'adverts', advertId: advertIdOf(message) });
      const isHandled =
        row !== undefined && row.tries === undefined && row.missingSince === undefined && !row.pending;
      // Planted fault: audit-before-settled
      if (isHandled && (row.by === message || (isEmpty && row.etag !== etag))) results.set(message, row);
      else if (isEmpty) results.set(message, 'given-up');
    }),
  );
  return results;
}

type Results = ReadonlyMap<string, AdvertRow | 'given-up'>;

function withResults(progress: AuditProgress, results: Results): AuditProgress {
  let { equal } = progress;
  const differing = [...progress.differing];
  const neverPublished = [...progress.neverPublished];
  const unsettled = [...progress.unsettled];
  for (const [message, row] of results) {
    const advertId = advertIdOf(message);
    const event = row === 'given-up' ? undefined : eventFor(message, row);
    if (row === 'given-up') unsettled.push(advertId);
    else if (!event) equal += 1;
    else if (event.detail.metadata.sequence === 1) neverPublished.push(advertId);
    else {
      const { previousStatus, status } = event.detail.data;
      differing.push({ advertId, published: previousStatus, actual: status });
    }
  }
  const waiting = progress.waiting.filter(({ message }) => !results.has(message));
  return { ...progress, equal, differing, neverPublished, unsettled, waiting };
}

/** The event that was published for this message of an audit. */
function eventFor(message: string, { envelope }: AdvertRow): AdvertEvent | undefined {
  if (envelope === undefined) return undefined;
  const event = JSON.parse(envelope) as AdvertEvent;
  const { cause, correlationId } = event.detail.metadata;
  return cause === 'audit' && message.startsWith(`${correlationId}:`) ? event : undefined;
}

const advertIdOf = (message: string): string => message.slice(message.indexOf(':') + 1);

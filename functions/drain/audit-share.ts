/**
 * The daily audit: adverts that were published go through the queue once more, a few after each poll. Fan-out finds
 * them unchanged, or publishes their next event with the cause `audit` and counts it.
 */
import { type Clock, dayMs, toInstant } from '../../shared/domain/clock.ts';
import type { AdvertHistories } from '../../shared/state/advert-histories.ts';
import type { AuditShare, BackfillKey, Progresses } from '../../shared/state/progress.ts';
import { type EnqueueDeps, enqueuePage } from './accept-page.ts';

export interface AuditShareDeps extends EnqueueDeps {
  readonly advertHistories: Pick<AdvertHistories, 'page'>;
  readonly auditShares: Progresses<AuditShare>;
  readonly clock: Clock;
  readonly settings: {
    /** How many adverts of each partner account are audited a day. */
    readonly auditSample: number;
    readonly maxRequestsPerSecond: number;
  };
}

/** At half of the rate, a batch of the audit takes this long: live changes wait no longer behind it. */
const batchSeconds = 4;

/** Number of adverts that an audit sends at once. */
export const auditBatch = (maxRequestsPerSecond: number): number =>
  Math.max(1, Math.floor((maxRequestsPerSecond / 2) * batchSeconds));

/** Sends the adverts of an account that are due; the next day goes on after them. Never rejects: the next round tries again. */
export function createAuditShare(deps: AuditShareDeps): (key: BackfillKey) => Promise<void> {
  const { advertHistories, auditShares, clock, observer } = deps;
  const { auditSample, maxRequestsPerSecond } = deps.settings;

  async function send(key: BackfillKey): Promise<void> {
    const now = clock.now();
    const stored = await auditShares.read(key);
    const isToday = stored && now - Date.parse(stored.startedAt) < dayMs;
    const { startedAt, sent, from } = isToday
      ? stored
      : { startedAt: toInstant(now), sent: 0, from: stored?.from };
    const dueNow = Math.min(
      auditSample,
      Math.floor((auditSample * (now - Date.parse(startedAt))) / dayMs) + 1,
    );
    const most = Math.min(dueNow - sent, auditBatch(maxRequestsPerSecond));
    if (most <= 0) return;
    const { advertIds: ids, next } = await advertHistories.page(key, from, most);
    const found = { ids, repeated: 0, malformed: 0, malformedShown: [] };
    await enqueuePage(deps, { ...key, feed: 'adverts' }, found, { receivedAt: now, cause: 'audit' });
    // At the end of the listing, the day is over: no advert is audited twice in it.
    const isThrough = next === undefined && ids.length > 0;
    const after = { startedAt, sent: isThrough ? auditSample : sent + ids.length };
    // Another round may have sent adverts too, which does no harm: both are counted.
    await auditShares.change(key, ids.length, () => (next === undefined ? after : { ...after, from: next }));
  }

  return (key) =>
    send(key).catch((error: unknown) => {
      observer.warn('adverts could not be sent for the daily audit: the next round tries again', {
        partnerAccount: key.partnerAccount,
        error,
      });
    });
}

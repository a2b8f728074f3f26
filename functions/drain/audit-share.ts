/**
 * The daily audit: adverts that were published go through the queue once more, a few after each poll. Fan-out finds
 * them unchanged, or publishes their next event with the cause `audit` and counts it.
 */
import { type Clock, toInstant } from '../../shared/domain/clock.ts';
import type { AdvertHistories } from '../../shared/state/advert-histories.ts';
import type { AuditShare, BackfillKey, Progresses } from '../../shared/state/progress.ts';
import { type EnqueueDeps, enqueuePage } from './accept-page.ts';

export interface AuditShareDeps extends EnqueueDeps {
  readonly advertHistories: Pick<AdvertHistories, 'page'>;
  readonly shares: Progresses<AuditShare>;
  readonly clock: Clock;
  readonly settings: {
    /** How many adverts of each partner account are audited a day. */
    readonly auditSample: number;
    readonly maxRequestsPerSecond: number;
  };
}

const dayMs = 24 * 60 * 60_000;
/** So long a batch of the audit takes at half of the rate: live changes wait no longer behind it. */
const batchSeconds = 4;

/** Number of adverts that an audit sends at once. */
export const auditBatch = (maxRequestsPerSecond: number): number =>
  Math.max(1, Math.floor((maxRequestsPerSecond / 2) * batchSeconds));

/** The time that fan-out needs for a batch at half of the rate. */
export const auditPaceMs = (maxRequestsPerSecond: number): number =>
  (auditBatch(maxRequestsPerSecond) * 2_000) / maxRequestsPerSecond;

/** Sends what is due of an account's adverts; the next day goes on after them. Never rejects: the next round tries again. */
export function createAuditShare(deps: AuditShareDeps): (key: BackfillKey) => Promise<void> {
  const { advertHistories, shares, clock, observer } = deps;
  const { auditSample, maxRequestsPerSecond } = deps.settings;
  /** Before this moment nothing is due; saves a read in each round. */
  const nextDueMs = new Map<string, number>();

  async function send(key: BackfillKey, name: string): Promise<void> {
    const stored = await shares.read(key);
    const now = clock.now();
    const isToday = stored && now - Date.parse(stored.value.startedAt) < dayMs;
    const { from, ...share } = isToday
      ? stored.value
      : { startedAt: toInstant(now), sent: 0, from: stored?.value.from };
    const beganMs = Date.parse(share.startedAt);
    const dueNow = Math.min(auditSample, Math.floor((auditSample * (now - beganMs)) / dayMs) + 1);
    const most = Math.min(dueNow - share.sent, auditBatch(maxRequestsPerSecond));
    if (most > 0) {
      const { advertIds: ids, next } = await advertHistories.page(key, from, most);
      const found = { ids, repeated: 0, malformed: 0, malformedShown: [] };
      const origin = { receivedAt: now, cause: 'audit' } as const;
      await enqueuePage(deps, { ...key, feed: 'adverts' }, found, origin);
      // At the end of the listing, the day is over: no advert is audited twice in it.
      const isThrough = next === undefined && ids.length > 0;
      const sent = isThrough ? auditSample : share.sent + ids.length;
      const after = { ...share, sent, ...(next !== undefined && { from: next }) };
      // Another round may have sent adverts too, which does no harm: both are counted.
      await shares.change(key, ids.length, () => after);
      share.sent = sent;
    }
    const isDone = share.sent >= auditSample;
    nextDueMs.set(name, beganMs + (isDone ? dayMs : (share.sent * dayMs) / auditSample));
  }

  return async (key) => {
    const name = `${key.partnerAccount}/${key.generation}`;
    if (clock.now() < (nextDueMs.get(name) ?? 0)) return;
    await send(key, name).catch((error: unknown) => {
      observer.warn('adverts could not be sent for the daily audit: the next round tries again', {
        partnerAccount: key.partnerAccount,
        error,
      });
    });
  };
}

/**
 * Checks `nobody-delays-another`, only in runs without other faults, in which a delay can have no other reason. Where
 * delays are compared, beside.ts checks them.
 */
import { subjectOf } from '../model/history.ts';
import { shortLimits } from '../model/limits.ts';
import type { SimWorld } from '../world/sim-world.ts';
import { nameOf } from '../world/users.ts';

/**
 * A drain runs at least every 40 s; two runs may be necessary when the first one's lease is in the way. Pages are
 * small.
 */
const maxListingMs = 120_000;
/** Includes the time until the drain that puts messages back. */
const maxReleaseMs = 60_000;
/** Includes the wait that confirms an absence, and a batch with other adverts that use all of its time. */
const maxSettlingMs = 75_000;

export function checkDelays({ plan, history, service, operator }: SimWorld): void {
  const isOrdinary =
    plan.temper === 'quiet' &&
    plan.limits === shortLimits &&
    !plan.siege &&
    plan.rejections.length === 0 &&
    !plan.freezes &&
    !plan.revokesWhileStoring;
  if (!isOrdinary || plan.troubles.some(({ kind }) => ['outage', 'block', 'bus-down'].includes(kind))) return;
  const bad = new Set(
    [
      ...plan.troubles,
      ...plan.ills.filter(({ of }) => of !== 'adverts'),
      ...plan.revocations,
      ...plan.departures,
      ...plan.handovers,
      ...plan.pauses,
    ]
      .map(({ account }) => account)
      .concat(plan.lostAccount ?? [], ...history.brokenFeeds),
  );
  const isHealthy = (one: { readonly account: string; readonly advertId: string }) =>
    !bad.has(nameOf(one.account)) &&
    !plan.ills.some(
      ({ account, advertIds }) => account === nameOf(one.account) && advertIds.has(one.advertId),
    );
  const violated = (subject: string, message: string) =>
    history.violated({ invariant: 'nobody-delays-another', subject, message });

  /** The start of a wait: `fromMs`, or the end of the last operator's pause after it. */
  function freeSince(account: string, fromMs: number, toMs: number): number {
    const between = operator.pauses.filter(
      (pause) =>
        (pause.account === undefined || pause.account === nameOf(account)) &&
        pause.fromMs < toMs &&
        pause.untilMs > fromMs,
    );
    return Math.max(fromMs, ...between.map(({ untilMs }) => untilMs));
  }

  const listings = [...history.listings.values()].filter(isHealthy);
  for (const change of service.changes) {
    if (!isHealthy(change)) continue;
    const subject = subjectOf(change);
    const first = listings.find((one) => subjectOf(one) === subject && (one.page?.tick ?? 0) >= change.tick);
    const listedAt = first?.acceptedAt ?? Number.POSITIVE_INFINITY;
    const waitedMs = listedAt - freeSince(change.account, change.visibleAt, listedAt);
    if (waitedMs > maxListingMs)
      violated(subject, `a change of advert ${subject} waited ${waitedMs} ms to be listed`);
  }
  // If messages expire before a batch ends, a neighbour that hangs makes them come back for as long as it hangs.
  if (plan.visibilityMs < plan.limits.workerMs) return;
  for (const { key, acceptedAt, ...listing } of listings) {
    const settledAt = history.settledAt.get(key) ?? Number.POSITIVE_INFINITY;
    const from = freeSince(listing.account, acceptedAt, settledAt);
    const waitedMs = settledAt - from;
    const subject = subjectOf(listing);
    if (waitedMs > maxSettlingMs + (from > acceptedAt ? maxReleaseMs : 0))
      violated(subject, `advert ${subject} (${key}) waited ${waitedMs} ms in the queue`);
  }
}

/** `nobody-delays-another`, checked in runs where nothing else goes wrong, so that a delay has no other reason. */
import { subjectOf } from '../model/history.ts';
import type { SimWorld } from '../world/sim-world.ts';
import { limits } from '../world/stages.ts';
import { nameOf } from '../world/users.ts';

/** A drain comes at least every 40 s, two of them when the first one's lease is in the way, and pages are small. */
const maxListingMs = 120_000;
/** A drain has to come that puts back what waited. */
const maxReleaseMs = 60_000;
/** The wait that confirms an absence, and a batch with others that take all their time. */
const maxSettlingMs = 75_000;

export function checkDelays({ plan, history, service, operator }: SimWorld): void {
  const isOrdinary =
    plan.temper === 'quiet' &&
    !plan.siege &&
    plan.rejections.length === 0 &&
    !plan.revokesWhileStoring &&
    !plan.editsSecrets;
  if (!isOrdinary || plan.troubles.some(({ kind }) => ['outage', 'block', 'bus-down'].includes(kind))) return;
  const [ofOrders, troubles] = [true, false].map((is) =>
    plan.troubles.filter(({ kind }) => (kind === 'orders-refused') === is),
  );
  const bad = new Set(
    [...(troubles ?? []), ...plan.revocations, ...plan.departures, ...plan.handovers, ...plan.pauses]
      .map(({ account }) => account)
      .concat(plan.lostAccount ?? [], ...history.brokenFeeds),
  );
  const isHealthy = (one: { readonly account: string; readonly advertId: string }) =>
    !bad.has(nameOf(one.account)) &&
    !plan.badAdverts.has(subjectOf(one).replace('/orders-', '/')) &&
    !(ofOrders?.length && one.advertId.startsWith('orders-'));
  const violated = (subject: string, message: string) =>
    history.violated({ invariant: 'nobody-delays-another', subject, message });

  /** The moment from which something may be waited for: the end of the last pause that an operator had in between. */
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
  // Where messages come back before a batch has ended, a hanging neighbour makes them come back for as long as it hangs.
  if (plan.visibilityMs < limits.workerMs) return;
  for (const { key, acceptedAt, ...listing } of listings) {
    const settledAt = history.settledAt.get(key) ?? Number.POSITIVE_INFINITY;
    const from = freeSince(listing.account, acceptedAt, settledAt);
    const waitedMs = settledAt - from;
    const subject = subjectOf(listing);
    if (waitedMs > maxSettlingMs + (from > acceptedAt ? maxReleaseMs : 0))
      violated(subject, `advert ${subject} (${key}) waited ${waitedMs} ms in the queue`);
  }
}

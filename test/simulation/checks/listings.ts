/** Checks `no-change-lost`. */
import { type Fetch, type Listing, type Published, subjectOf } from '../model/history.ts';
import type { SimWorld } from '../world/sim-world.ts';
import { nameOf } from '../world/users.ts';

export async function checkListings(world: SimWorld): Promise<void> {
  const { history, plan, service, state, users } = world;
  const bySubject = Map.groupBy(history.listings.values(), subjectOf);

  for (const change of service.changes) {
    const account = nameOf(change.account);
    // Changes of a user who no longer stands behind the name need not be listed.
    if (account === plan.lostAccount || change.account !== users.currentOf(account)) continue;
    if (change.recordedAt <= history.startedAt(account)) continue;
    const subject = subjectOf({ ...change, account });
    if (bySubject.get(subject)?.some(({ page }) => page && page.tick >= change.tick)) continue;
    const message = `the change of advert ${subject} to ${change.status} never came to the queue`;
    history.violated({ invariant: 'no-change-lost', subject, message });
  }

  for (const resync of history.resyncs.values()) {
    if (resync.account === plan.lostAccount || history.isForgotten(resync)) continue;
    // A resync for an earlier user of the name guarantees nothing for the current user.
    const current = await state.partnerAccounts.read(resync.account);
    if (current?.generation !== resync.generation) continue;
    for (const change of service.changes) {
      if (change.account !== users.currentOf(resync.account) || change.recordedAt <= resync.sinceMs) continue;
      const subject = subjectOf({ ...change, account: resync.account });
      const isListedAgain = bySubject.get(subject)?.some(({ page }) => (page?.tick ?? 0) >= resync.firstTick);
      if (isListedAgain) continue;
      const message = `advert ${subject} changed after the time of a resync, which did not list it again`;
      history.violated({ invariant: 'no-change-lost', subject, message });
    }
  }

  /** The latest listing of each advert that is dead-lettered or waits. */
  const deadUntil = new Map<string, number>();
  const dead = await state.deadLetters.list();
  // Messages that wait for a person who never comes.
  const lost = plan.lostAccount ? await state.aside.list(plan.lostAccount) : [];
  for (const { message } of [...dead, ...lost]) {
    const listing = message && history.listings.get(message.key);
    if (!listing) continue;
    const subject = subjectOf(listing);
    deadUntil.set(subject, Math.max(deadUntil.get(subject) ?? 0, listing.acceptedTick));
  }

  const isPromised = (one: Listing) => history.wasConnected(one) && !history.isForgotten(one);
  for (const [subject, listings] of bySubject) {
    const fetches = history.fetches.get(subject) ?? [];
    const events = [...(history.events.get(subject)?.values() ?? [])].sort((a, b) => a.sequence - b.sequence);
    for (const { acceptedTick, key } of listings.filter(isPromised)) {
      if ((deadUntil.get(subject) ?? -1) >= acceptedTick) continue;
      const later = fetches.filter(({ beganTick }) => beganTick >= acceptedTick);
      if (later.some((fetch) => isTold(fetch, events))) continue;
      const why =
        later.length === 0
          ? 'nobody fetched it after that'
          : `what was seen after that (${seen(later)}) was not published`;
      const message = `advert ${subject} was listed (${key}), but ${why}`;
      history.violated({ invariant: 'no-change-lost', subject, message });
    }
  }
}

/** Checks that the last event of each advert has its status, in a world in which answers are wrong for a time and nothing fails. */
export function checkLatest({ history, service }: SimWorld): void {
  const latest = new Map(service.changes.map((change) => [subjectOf(change), change]));
  for (const [subject, { status }] of latest) {
    const events = [...(history.events.get(subject)?.values() ?? [])];
    const published = events.toSorted((a, b) => a.sequence - b.sequence).at(-1)?.status;
    if (published === status) continue;
    const message = `advert ${subject} is ${status}, but ${published} was published last`;
    history.violated({ invariant: 'no-change-lost', subject, message });
  }
}

const seen = (fetches: readonly Fetch[]): string =>
  fetches.map(({ status }) => status ?? 'unknown').join(', ');

/**
 * Whether the fetch was published: events 1…k were accepted, k has the fetch's status, and no event above k was
 * fetched before it.
 */
export function isTold(fetch: Fetch, events: readonly Published[]): boolean {
  const isWhole = (index: number) => events[index]?.sequence === index + 1;
  const firstK = events.findLastIndex((event) => (event.fetch?.seenTick ?? 0) < fetch.seenTick);
  for (let index = 0; index < events.length && isWhole(index); index += 1) {
    if (index >= firstK && events[index]?.status === fetch.status) return true;
  }
  return false;
}

/** Checks `history-answers`: what the command `history` says about an advert agrees with what the model observed. */

import { printedHistory } from '../../../operators/operations/findings/history-text.ts';
import { type KnownHistory, readHistory } from '../../../operators/operations/history.ts';
import type { PartnerAccount } from '../../../shared/domain/partner-account.ts';
import { type Listing, type Published, subjectOf } from '../model/history.ts';
import type { SimWorld } from '../world/sim-world.ts';
import { isTold } from './listings.ts';

/** An advert that no feed has listed. */
const strangerId = '999999';
const isWaiting = ({ outcome }: KnownHistory): boolean =>
  outcome === 'waits-in-queue' || outcome === 'unconfirmed' || outcome === 'aside';

/**
 * Calls the use case for every advert, and for one advert that no feed has listed.
 *
 * @param isOver nothing is being processed any more: everything that did not fail has been published
 */
export async function checkHistories(world: SimWorld, isOver: boolean): Promise<void> {
  const { state, history, plan, scheduler } = world;
  const listingsOf = Map.groupBy(
    history.listings.values(),
    ({ account, generation }) => `${account}/${generation}`,
  );
  const bridge = {
    ...state,
    host: { kind: 'local', isRunning: () => true } as const,
    clock: scheduler,
    settings: async () => plan.publishedEvents,
  };
  const blind = { ...bridge, ...(await asOnAws(world)) };
  for (const account of await state.partnerAccounts.list()) {
    const { name, generation } = account;
    // Its rows are being deleted, and its messages discarded.
    if (account.forgetting || history.isForgotten({ account: name, generation })) continue;
    const listings = Map.groupBy(listingsOf.get(`${name}/${generation}`) ?? [], ({ advertId }) => advertId);
    let waiting = 0;
    for (const advertId of [...listings.keys(), strangerId]) {
      const key = { partnerAccount: name, advertId };
      const answer = await readHistory(bridge, key);
      waiting += answer.waiting.length;
      const subject = subjectOf({ account: name, advertId });
      const common = { account, subject, listings: listings.get(advertId) ?? [], isOver };
      check(world, { ...common, answer, isBlind: false });
      check(world, { ...common, answer: await readHistory(blind, key), isBlind: true });
    }
    const { inFlight } = await state.bookKeeper.read(name, generation);
    if (waiting === inFlight) continue;
    const message = `${waiting} messages of ${name} are said to wait, but ${inFlight} are in flight`;
    history.violated({ invariant: 'history-answers', subject: name, message });
  }
}

/** As on AWS: the queue cannot be inspected. */
async function asOnAws({ state }: SimWorld) {
  const { ofAdvert: _, ...queue } = state.queue;
  const held = await state.aside.figures();
  const { waiting } = await state.bookKeeper.queue();
  return {
    host: { kind: 'stack' } as const,
    queue: { ...queue, depth: async () => waiting - held.waiting },
  };
}

interface Answered {
  readonly account: PartnerAccount;
  /** The account, and the model's key of the advert or other object. */
  readonly subject: string;
  readonly answer: KnownHistory;
  /** Listings of the advert in the account's generation. */
  readonly listings: readonly Listing[];
  readonly isOver: boolean;
  /** The queue was not inspected: the answer may say less, but nothing that is wrong. */
  readonly isBlind: boolean;
}

function check(world: SimWorld, { account, subject, answer, listings, isOver, isBlind }: Answered): void {
  const { history, plan, coverage } = world;
  const { outcome, latest, latestPublished, deadLetters } = answer;
  const where = isBlind ? ', without its queue' : '';
  const violated = (text: string) => {
    const message = `advert ${subject}${where}, "${printedHistory(answer).answer}": ${text}`;
    history.violated({ invariant: 'history-answers', subject, message });
  };
  const isJudged = (verdict: string) => listings.some(({ key }) => history.judged.get(key)?.has(verdict));
  const events = eventsOf(history.events.get(subject), account.generation);
  const sequence = latest?.detail.metadata.sequence ?? 0;
  const accepted = events.find((event) => event.sequence === sequence);
  const isKeptOff = accepted?.isKeptOff === true;
  coverage.count(`history${isBlind ? ' without the queue' : ''}: ${outcome}`);

  if (latestPublished && (!accepted || isKeptOff)) violated('the bus has not accepted that event');
  const listed = new Set(listings.map(({ key }) => key));
  const unlisted = answer.waiting.find(({ key }) => !listed.has(key));
  if (unlisted) violated(`${unlisted.key} was never listed`);
  if (outcome === 'dropped' && !isJudged('dropped')) violated('nobody dropped any of its messages');
  if (isBlind) {
    if (outcome === 'not-listed' && listings.some(({ key }) => history.judged.has(key)))
      violated('a message of it had an outcome');
    return;
  }
  if ((events.at(-1)?.sequence ?? 0) > sequence) violated('the bus has accepted a later event');
  if (latestPublished === false && !isKeptOff) violated('that event was not kept off the bus');
  if ((outcome === 'not-listed') !== (listings.length === 0))
    violated(`it was listed ${listings.length} times`);
  if (outcome === 'published' && latestPublished !== true)
    violated('its latest event is not certainly published');
  if (outcome === 'kept-off' && !isKeptOff) violated('nothing keeps it off');

  const isDead = (key: string) => deadLetters.some(({ message }) => message?.key === key);
  // What was published as gone without a witness waits for another look.
  const ofLatest = latestPublished === null ? undefined : latest?.detail.metadata.correlationId;
  const unsettled = listings.filter(
    ({ key }) => !history.judged.has(key) && !isDead(key) && !key.startsWith(`${ofLatest}:`),
  );
  if (unsettled.length > 0 && !isWaiting(answer)) violated(`${unsettled[0]?.key} never had an outcome`);
  if (outcome === 'dead-lettered' && !isJudged('dead-letter'))
    violated('none of its messages was dead-lettered');

  if (outcome === 'published' || outcome === 'kept-off') {
    const fetches = history.fetches.get(subject) ?? [];
    const untold = listings.find(
      ({ acceptedTick, key }) =>
        !isDead(key) &&
        !history.judged.get(key)?.has('dropped') &&
        !fetches.some((fetch) => fetch.beganTick >= acceptedTick && isTold(fetch, events)),
    );
    if (untold) violated(`what changed before ${untold.key} is on no event`);
  }
  if (!isOver || isJudged('dead-letter') || listings.length === 0 || account.name === plan.lostAccount)
    return;
  // A process may end between the publish of an event and its confirmation in the row.
  const isUnconfirmed = outcome === 'not-accepted' && accepted !== undefined;
  if (outcome !== 'published' && outcome !== 'kept-off' && !isUnconfirmed)
    violated('nothing failed for good, and nothing is at work');
}

/** The accepted events of this generation, in order. */
function eventsOf(events: ReadonlyMap<number, Published> | undefined, generation: number): Published[] {
  const all = [...(events?.values() ?? [])].sort((a, b) => a.sequence - b.sequence);
  const [text = ''] = all[0]?.texts ?? [];
  return text.includes(`"generation":${generation},`) ? all : [];
}

/**
 * Checks `nobody-delays-another` in worlds in which a part of the service is ill: all other changes are published with
 * at most twice the delay that they have in the same world without it, and the ill part is asked no more often than its
 * own backoff allows.
 */

import type { Plan } from '../model/draw-plan.ts';
import { subjectOf } from '../model/history.ts';
import { type Ill, illAnswer } from '../model/ill.ts';
import { epochMs } from '../model/scheduler.ts';
import type { SimWorld } from '../world/sim-world.ts';
import { nameOf } from '../world/users.ts';

const minuteMs = 60_000;
/** A change whose account has given the turn to an ill advert looks again after 5 s, and after 10 s more. */
const turnsMs = 15_000;
/**
 * Of ten ill adverts, seven have not failed yet when their account begins to go one at a time: if they hang, each may take
 * a turn of 11 s before a healthy one. When they change again, after 90 s, the healthy ones go first.
 */
const [unknownTurnsMs, changedAgainMs] = [77_000, 90_000];
/** Three pages of entries that are no IDs until the feed is stuck, then one each five minutes; some are read twice. */
const mostMalformed = 8;
/**
 * The feed is read ahead by 30 seconds of the rate, the first page of a round by five more, and a page takes a few. The
 * time until the next poll is added.
 */
const besideBacklogMs = 38_000;
/** From the poll until a worker has fetched and published the advert, where nothing is ill, beside the fetches of others. */
const publishedWithinMs = 10_000;
/** Of the rate. Without a limit of reading ahead the bridge reached 0.88. */
const leastShare = 0.85;

export function checkBeside(world: SimWorld, healthy: SimWorld): void {
  const { plan, history } = world;
  const violated = (message: string) => history.violated({ invariant: 'nobody-delays-another', message });
  const longest = Math.max(...delaysOf(healthy, () => true));
  const others = plan.ills.reduce((sum, { advertIds }) => sum + advertIds.size, 0);
  const fetchedMs = (1_000 * others) / plan.requestsPerSecond;
  if (healthy.plan.ills.length === 0 && longest > plan.pollSeconds * 1_000 + fetchedMs + publishedWithinMs)
    violated(`where nothing is ill, a change is published after ${longest} ms`);
  // A shorter repetition of a run may have no change left.
  const usual = p99(delaysOf(healthy, isBeside(plan))) ?? Number.POSITIVE_INFINITY;
  const ends = plan.ills.filter((ill) => !healthy.plan.ills.includes(ill)).map(({ untilMs }) => untilMs);
  const wellAt = ends.length === 0 ? Number.POSITIVE_INFINITY : epochMs + Math.max(...ends);
  const checkDelays = (fromAt: number, waitsMs: number) => {
    const isThen = ({ visibleAt }: { readonly visibleAt: number }) =>
      visibleAt >= fromAt && visibleAt < wellAt;
    const beside = p99(delaysOf(world, isBeside(plan), isThen)) ?? 0;
    if (beside > 2 * usual + waitsMs)
      violated(`beside what is ill, changes are published after ${beside} ms (p99), otherwise ${usual} ms`);
  };
  const hangs = plan.ills.some(({ answer }) => answer === 'hangs');
  // A batch waits for its slowest: until their account goes one at a time, hanging adverts fill a batch of each worker.
  const waits: Record<string, number> = { 'ten-ill': hangs ? unknownTurnsMs : turnsMs, archived: minuteMs };
  checkDelays(epochMs, waits[plan.world ?? ''] ?? (hangs ? 10_000 : 0));
  for (const { fromMs } of plan.world === 'ten-ill' ? plan.ills : [])
    checkDelays(epochMs + fromMs + changedAgainMs, turnsMs);
  // What waited in the feed and in the queue is a backlog.
  const after = p99(delaysOf(world, isBeside(plan), (change) => change.visibleAt >= wellAt)) ?? 0;
  if (after > Math.max(2 * usual, besideBacklogMs + plan.pollSeconds * 1_000))
    violated(`beside what was ill, changes are published after ${after} ms (p99)`);
  const isOfTwo = plan.ills.every(({ of, advertIds }) => of === 'adverts' && advertIds.size <= 2);
  if (isOfTwo && history.oneAtATime.size > 0)
    violated(`the adverts of ${[...history.oneAtATime]} go one at a time, although at most two are ill`);
  for (const ill of plan.ills) {
    const malformed = history.malformed.get(ill.account) ?? 0;
    if (malformed > mostMalformed)
      violated(`the feed of ${ill.account} made ${malformed} dead letters of entries that are no IDs`);
    const asked = world.askedOf.get(ill)?.length ?? 0;
    const most = mostRequests(ill, plan.pollSeconds * 1_000);
    if (asked > most)
      violated(
        `${ill.of} of ${ill.account} were asked ${asked} times while ill (${ill.answer}), ${most} are enough`,
      );
  }
}

/** One ill advert delays only itself; more than one may be the fault of the account, unless there is no other. */
const isBeside = (plan: Plan) => (subject: string) =>
  !plan.ills.some(({ account, advertIds }) =>
    advertIds.size === 1 || plan.accounts.length === 1
      ? [...advertIds].some((id) => subject === `${account}/${id}`)
      : subject.startsWith(`${account}/`),
  );

/** From the moment when the feed lists a change until its event, or until it is settled without one, ms. */
export function delaysOf(
  { history, service }: SimWorld,
  isMeant: (subject: string) => boolean,
  isThen: (change: { readonly visibleAt: number }) => boolean = () => true,
): number[] {
  const listingsOf = Map.groupBy(history.listings.values(), subjectOf);
  return service.changes
    .filter((change) => isMeant(subjectOf(change)) && isThen(change))
    .map((change) => {
      const subject = subjectOf(change);
      const listing = listingsOf.get(subject)?.find(({ page }) => (page?.tick ?? 0) >= change.tick);
      if (!listing) return Number.POSITIVE_INFINITY;
      const { key, acceptedTick } = listing;
      const event = [...(history.events.get(subject)?.values() ?? [])].find(
        ({ fetch }) => (fetch?.beganTick ?? 0) >= acceptedTick,
      );
      const never = Number.POSITIVE_INFINITY;
      return Math.min(event?.firstAt ?? never, history.settledAt.get(key) ?? never) - change.visibleAt;
    });
}

const p99 = (values: readonly number[]): number | undefined =>
  values.toSorted((a, b) => a - b)[Math.ceil(values.length * 0.99) - 1];

/** A message waits longer after each try, even if the service asks for a second: in 150 s it is tried about ten times. */
const mostOfAdvert = 36;
const mostOfMessage = 4;

/** Checks `service-not-hammered` where one advert answers that it wants to be asked again in a second. */
export function checkRequests({ plan, askedOf, history }: SimWorld): void {
  for (const ill of plan.ills.filter(({ answer }) => answer === 'wait-1')) {
    const isOfIll = ({ account, advertId }: { readonly account: string; readonly advertId: string }) =>
      nameOf(account) === ill.account && ill.advertIds.has(advertId);
    const messages = [...history.listings.values()].filter(isOfIll).length;
    const asked = askedOf.get(ill)?.length ?? 0;
    if (asked <= mostOfAdvert + mostOfMessage * messages) continue;
    const message = `an advert of ${ill.account} was asked ${asked} times for ${messages} messages, although it answered 503`;
    history.violated({ invariant: 'service-not-hammered', message });
  }
}

/** Each change is asked for once, the first ones of an account twice; then one that waits aside tries again each minute. */
const mostRefused = (changes: number, { ills: [ill] = [], accounts }: Plan): number =>
  changes + accounts.length * (6 + ((ill?.untilMs ?? 0) - (ill?.fromMs ?? 0)) / minuteMs);

/** Checks `few-dead-letters` where the service answers every advert of an account badly, and that all is right soon after. */
export function checkRefusals(world: SimWorld): void {
  const { plan, askedOf, history, service } = world;
  const [ill] = plan.ills;
  if (!plan.refusesAlike || !ill) return;
  const givenUp = history.deadLetteredAt.length;
  if (givenUp > 0) {
    const message = `${givenUp} messages were dead-lettered while every advert was answered badly (${ill.answer})`;
    history.violated({ invariant: 'few-dead-letters', message });
  }
  const isIll = (subject: string) => plan.ills.some(({ account }) => subject.startsWith(`${account}/`));
  const [from, until] = [epochMs + ill.fromMs, epochMs + ill.untilMs];
  const isThen = ({ visibleAt }: { readonly visibleAt: number }) =>
    visibleAt > from - minuteMs && visibleAt < until;
  const listed = service.changes.filter((one) => isIll(subjectOf(one)) && isThen(one)).length;
  const asked = [...askedOf.values()].reduce((sum, times) => sum + times.length, 0);
  const most = mostRefused(listed, plan);
  if (asked > most) {
    const message = `${asked} adverts were asked for while every one was answered badly, ${most} are enough`;
    history.violated({ invariant: 'service-not-hammered', message });
  }
  // The next try is within a minute, and so is the next run of the drain; then all come back at half of the rate.
  const rightWithinMs = 2 * minuteMs + 1_000 * plan.pollSeconds + (2_000 * listed) / plan.requestsPerSecond;
  const longest = Math.max(...delaysOf(world, isIll, ({ visibleAt }) => visibleAt < from + minuteMs));
  if (longest <= until - from + rightWithinMs + minuteMs) return;
  const message = `after the end of what was answered badly, a change takes ${longest} ms`;
  history.violated({ invariant: 'nobody-delays-another', message });
}

/** From a poll until an event, where what comes back takes half of the rate, in steps of five seconds. */
const besideReturnMs = 15_000;

/** Checks `nobody-delays-another` beside accounts that come back from a pause, and that they are done as soon as they can. */
export function checkReturn(world: SimWorld, returnMs: number): void {
  const { plan, history, service } = world;
  const violated = (message: string) => history.violated({ invariant: 'nobody-delays-another', message });
  const isLive = (subject: string) => subject.startsWith('dune/');
  const isThen = ({ visibleAt }: { readonly visibleAt: number }) => visibleAt >= epochMs + returnMs;
  const longest = Math.max(0, ...delaysOf(world, isLive, isThen));
  if (longest > 1_000 * plan.pollSeconds + besideReturnMs)
    violated(`beside accounts that come back from a pause, a change is published after ${longest} ms`);
  const returning = service.changes.filter((change) => !isLive(subjectOf(change)));
  // The next run of the drain puts them back, at half of the rate.
  const mostMs = 2 * minuteMs + (2_000 * returning.length) / plan.requestsPerSecond;
  const latest = Math.max(0, ...delaysOf(world, (subject) => !isLive(subject)));
  const since = Math.min(...returning.map(({ visibleAt }) => visibleAt));
  if (latest > epochMs + returnMs - since + mostMs)
    violated(`what comes back from a pause is published ${latest} ms after it changed`);
}

/** Checks `nobody-delays-another` beside a backlog of one account. */
export function checkBacklog(world: SimWorld, account: string): void {
  const { plan, history } = world;
  const violated = (message: string) => history.violated({ invariant: 'nobody-delays-another', message });
  const isOfBacklog = (subject: string) => subject.startsWith(`${account}/`);
  const isWell = isBeside(plan);
  const longest = Math.max(...delaysOf(world, (subject) => !isOfBacklog(subject) && isWell(subject)));
  // What is read ahead takes some pauses, which last longer than they need to if the answer names no time.
  const pausedMs = plan.quota ? 3 * minuteMs : 0;
  const most = besideBacklogMs + pausedMs + plan.pollSeconds * 1_000;
  if (longest > most) violated(`beside the backlog of ${account}, a change is published after ${longest} ms`);
  // An advert that is ill fails for three minutes, and waits aside for one.
  const failing = Math.max(0, ...delaysOf(world, (subject) => !isWell(subject)));
  if (failing > 4 * minuteMs + most)
    violated(`beside the backlog of ${account}, what waited aside is published after ${failing} ms`);
  if (plan.quota) return;
  // A poll at the very moment of the changes may read the first of them long before the others.
  const ofBacklog = delaysOf(world, isOfBacklog)
    .toSorted((a, b) => a - b)
    .slice(20);
  const perSecond = (ofBacklog.length * 1_000) / ((ofBacklog.at(-1) ?? 0) - (ofBacklog[0] ?? 0));
  const least = leastShare * plan.requestsPerSecond;
  if (perSecond < least)
    violated(`${perSecond.toFixed(2)} changes of ${account} are published a second, ${least} are possible`);
}

/**
 * How often its backoff lets it be asked. A feed waits as long as it was asked to, or twice as long each time, up to five
 * minutes, and each poll makes three attempts; so does an account, of whose adverts some may be in the queue. An advert waits
 * as long as it was asked to, or after three attempts of two workers 15, 30, 60, 120 and 240 seconds at least. Each change of
 * it is asked for, although an earlier one waits. Of many adverts each changes once.
 */
function mostRequests({ of, advertIds, answer, fromMs, untilMs }: Ill, pollMs: number): number {
  const [ms, waitMs] = [untilMs - fromMs, 1_000 * Number(illAnswer(answer, 0).headers?.['retry-after'] ?? 0)];
  const isRead = answer === 'no-id' || answer === 'cycles' || answer === 'empty';
  if (of === 'feed' && isRead) return 100 + (10 * ms) / minuteMs;
  if (of !== 'adverts')
    return (
      (waitMs > 0 ? 1 + Math.floor(ms / waitMs) : 3 * pollsWithin(ms, pollMs)) +
      (of === 'account' ? ofOneMessage : 0)
    );
  const [turns, everyMs] = advertIds.size <= 10 ? [6, 90_000] : [1, 0];
  const ofTurn = (turn: number) =>
    waitMs > 0
      ? 1 + Math.floor((ms - turn * everyMs) / waitMs)
      : turn === 0
        ? ofOneMessage
        : ofOneMessage - 4;
  return advertIds.size * sum(Array.from({ length: turns }, (_, turn) => ofTurn(turn)));
}

const ofOneMessage = 3 + 3 + 5;
const sum = (numbers: readonly number[]) => numbers.reduce((all, one) => all + one, 0);

function pollsWithin(ms: number, pollMs: number): number {
  let polls = 1;
  for (let [atMs, waitMs] = [pollMs, pollMs]; atMs <= ms; atMs += waitMs) {
    polls += 1;
    waitMs = Math.min(2 * waitMs, 5 * minuteMs);
  }
  return polls;
}

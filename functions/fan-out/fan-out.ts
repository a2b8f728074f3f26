/**
 * The fan-out: fetches each advert named and publishes what became of it.
 *
 * A batch is grouped by advert here; what happens with one advert is in settle-advert.ts, and why each odd step of it
 * is there in docs/decisions/0001-fan-out-protocol.md.
 */
import { lateAfterSeconds, metrics } from '../../shared/contract/names.ts';
import { asPartnerError, PartnerError } from '../../shared/domain/faults.ts';
import { objectKeyOf } from '../../shared/domain/history-key.ts';
import { operatorPauseOf } from '../../shared/domain/operator-pause.ts';
import { type PartnerAccount, pauseOf, stopOf } from '../../shared/domain/partner-account.ts';
import type { ViewedAccounts } from '../../shared/partner-api/tokens/account-views.ts';
import type { Delivery, Outcome, Settlement } from '../../shared/ports/deliveries.ts';
import type { AdvertDeps, Group } from './advert.ts';
import { afterFault } from './after-fault.ts';
import { pagesOf } from './batch-log.ts';
import { byAdvert, type DeliveryGroup } from './by-advert.ts';
import { deadLetterOf } from './dead-letter.ts';
import { deadLetterOldest, park } from './leave-queue.ts';
import { onlyPublished } from './only-published.ts';
import { defaultLongestHiddenMs, defaultMaxReceives, sendBack } from './redelivery.ts';
import { settleAdvert } from './settle-advert.ts';

export interface FanOutDeps extends AdvertDeps {
  readonly accounts: Pick<ViewedAccounts, 'read' | 'seen'>;
  /** `quietUntil` of the shared rate budget as it is now. */
  readonly bridgePausedUntil: () => Promise<number>;
  readonly settings: AdvertDeps['settings'] & {
    /** How far the queue's clock, which dates messages, may be from this one's, ms. Default 1,000. */
    readonly clockSkewMs?: number;
  };
}

export interface HandleOptions {
  /** Ms since 1970: nothing is begun after it. */
  readonly deadlineMs: number;
}

/** How long a message stays away that is of a generation its partner account has not come to yet. */
const generationAheadMs = 5_000;

/**
 * How long a message of a newer bridge stays away. After ten days of that, a thousand receives, SQS moves it to the dead
 * letters as it is, before it would be too old for the queue.
 */
const newerMs = 900_000;

/** Rows of partner accounts, each read once for a batch that is in hand already. */
type BatchAccounts = Map<string, Promise<PartnerAccount | undefined>>;

/**
 * Whether the generation's history is over, or being removed: a row that is written now would begin it again, and a late write of
 * another worker could match the version of that row.
 */
const isOver = (account: PartnerAccount, generation: number): boolean =>
  account.generation > generation || (account.generation === generation && account.stop?.forgetting === true);

const forgotten = (group: Group): Settlement[] =>
  group.map((delivery) => ({ delivery, verdict: { kind: 'forgotten' } }));

/** The metric of each verdict that takes a message out of the queue without an outcome. */
const countedAs = { 'dead-letter': 'deadLettered', park: 'parked' } as const;

export function createFanOut(given: FanOutDeps) {
  const deps = { ...given, events: onlyPublished(given.events, given.settings) };
  const { accounts, clock, observer, random, bridgePausedUntil } = deps;
  const {
    maxReceives = defaultMaxReceives,
    longestHiddenMs = defaultLongestHiddenMs,
    clockSkewMs = 1_000,
  } = deps.settings;

  /**
   * The partner account as it was when the messages had been sent, or later: an older row may be of a generation or a stop
   * that the message itself shows to be over.
   */
  function accountOf(group: Group, ofBatch: BatchAccounts): Promise<PartnerAccount | undefined> {
    const { partnerAccount: name, generation } = group[0].message;
    const sentAt = Math.max(...group.map((delivery) => delivery.sentAt));
    const seen = accounts.seen(name);
    if (seen && seen.askedAt - clockSkewMs > sentAt && seen.account?.generation === generation)
      return Promise.resolve(seen.account);
    const account = ofBatch.get(name) ?? accounts.read(name).then((read) => read?.value);
    ofBatch.set(name, account);
    return account;
  }

  const isLong = (untilMs: number): boolean => untilMs - clock.now() > longestHiddenMs;

  /** Whether the account's messages are to wait outside the queue. */
  function rests(account: PartnerAccount): boolean {
    const now = clock.now();
    const pause = pauseOf(account, now);
    // However long it is meant to last: an operator's pause may be ended at any moment, and messages do not age in it.
    // Planted fault: aged-while-paused
    const mayBeResumed = operatorPauseOf(account, now) !== undefined;
    return stopOf(account) !== undefined || mayBeResumed || (pause !== undefined && isLong(pause.until));
  }

  /**
   * Where messages that met the fault go: outside the queue, to wait for a person or the end of a long pause; or nowhere. The
   * drain goes by the same rows: otherwise it would release what is parked here, again and again.
   */
  async function placeOf({ message }: Group[0], fault: PartnerError): Promise<'parked' | 'gone' | 'queue'> {
    // Planted fault: aged-while-paused
    if (fault.code === 'operator-paused') return 'parked';
    if (fault.policy.blames !== 'partner-account') {
      const waits = (fault.retryAfterMs ?? 0) > longestHiddenMs && isLong(await bridgePausedUntil());
      return waits ? 'parked' : 'queue';
    }
    const account = (await accounts.read(message.partnerAccount))?.value;
    if (!account) return 'queue';
    if (isOver(account, message.generation)) return 'gone';
    return account.generation === message.generation && rests(account) ? 'parked' : 'queue';
  }

  /** Settles the messages of one advert, together. Never rejects: what went wrong is in the verdicts. */
  async function handleAdvertMessages(
    group: Group,
    ofBatch: BatchAccounts,
    { deadlineMs }: HandleOptions,
  ): Promise<Settlement[]> {
    const [head] = group;
    const { generation } = head.message;
    // Planted fault: no-giving-up
    if (head.receives > maxReceives) return giveUp(group);
    try {
      const account = await accountOf(group, ofBatch);
      if (!account || isOver(account, generation)) return forgotten(group);
      if (account.generation < generation) {
        const message = `the message is of generation ${generation}, its partner account still of ${account.generation}`;
        throw new PartnerError('transient', message, { retryAfterMs: generationAheadMs });
      }
      // Planted fault: hidden-while-paused
      if (rests(account)) return await park(deps, group);
      return await settleAdvert(deps, group, deadlineMs);
    } catch (error) {
      const fault = asPartnerError(error);
      // Where that cannot be read, the messages wait in the queue, and the next delivery decides.
      const place = await placeOf(head, fault).catch(() => 'queue');
      if (place === 'gone') return forgotten(group);
      return place === 'parked' ? park(deps, group) : afterFault(deps, group, fault);
    }
  }

  /** For a message that came too often, before any work that may be what fails. Never rejects. */
  async function giveUp(group: Group): Promise<Settlement[]> {
    const [head] = group;
    const fault = 'delivered-too-often';
    const reason = `delivered ${head.receives} times without an end: fan-out crashes or runs out of time over it. Its log says more`;
    const { partnerAccount } = head.message;
    const advertId = objectKeyOf(head.message);
    observer.error('message dead-lettered', { partnerAccount, advertId, fault, reason });
    // Planted fault: given-up-without-owed
    return deadLetterOldest(deps, group, deadLetterOf(head, { fault, reason }, clock.now()), 0);
  }

  async function settle(
    group: DeliveryGroup,
    ofBatch: BatchAccounts,
    options: HandleOptions,
  ): Promise<Settlement[]> {
    for (const { receives, message } of group)
      if (receives > 1) observer.count(metrics.redelivered, 1, message?.feed);
    return areMessages(group) ? handleAdvertMessages(group, ofBatch, options) : group.map(malformed);
  }

  /** For a body in the queue that is not of the contract: a newer version of the bridge wrote it, or another program. */
  function malformed(delivery: Delivery): Settlement {
    if (delivery.isNewer) {
      observer.warn('a message of a newer bridge waits for it', { reason: delivery.flaw });
      observer.count(metrics.needsAttention, 1);
      return { delivery, verdict: { kind: 'retry', delayMs: newerMs } };
    }
    const reason = delivery.flaw ?? 'the message is not of the contract';
    const letter = deadLetterOf(delivery, { fault: 'malformed-message', reason }, clock.now());
    return { delivery, verdict: { kind: 'dead-letter', letter } };
  }

  /** Settles one advert's deliveries (see {@link byAdvert}). Logs only what goes wrong. Never rejects. */
  async function handleAdvert(group: DeliveryGroup, options: HandleOptions): Promise<Settlement[]> {
    const settlements = await settle(group, new Map(), options);
    countOutcomes(settlements);
    return settlements;
  }

  /** Settles a batch, its adverts side by side, with a line in the log. Never rejects. */
  async function handle(deliveries: readonly Delivery[], options: HandleOptions): Promise<Settlement[]> {
    const ofBatch: BatchAccounts = new Map();
    const { begun, putOff } = withoutRisk(byAdvert(deliveries));
    const settled = await Promise.all(begun.map((group) => settle(group, ofBatch, options)));
    const settlements = [...settled.flat(), ...putOff.flatMap((group) => sendBack(group, 0, random))];
    countOutcomes(settlements);
    // One line a batch: a line an advert would cost half of what its event does.
    if (settlements.length > 0) observer.info('batch handled', { pages: pagesOf(settlements) });
    return settlements;
  }

  /**
   * A message that was delivered too often may have brought the function down, or one beside it has. So it leaves the queue
   * alone, and the rest of the batch is not begun. Nor is what stands behind a message of its advert that only a newer
   * bridge can read.
   */
  function withoutRisk(groups: readonly DeliveryGroup[]): {
    readonly begun: readonly DeliveryGroup[];
    readonly putOff: readonly Group[];
  } {
    const isSpent = (group: DeliveryGroup) => areMessages(group) && group[0].receives > maxReceives;
    const anySpent = groups.some(isSpent);
    const newer = new Set(groups.flat().map(({ isNewer, about }) => isNewer && subjectOf(about)));
    const mayBegin = (group: DeliveryGroup) =>
      !areMessages(group) || (!newer.has(subjectOf(group[0].message)) && (!anySpent || isSpent(group)));
    return {
      begun: groups.filter(mayBegin),
      putOff: groups.filter(areMessages).filter((group) => !mayBegin(group)),
    };
  }

  /** Whether it is an event that was not published as soon as it should be: what a backfill lists was no change just now. */
  function isLate({ delivery: { message }, verdict }: Settlement): boolean {
    if (message?.cause !== 'feed' || verdict.kind !== 'done') return false;
    if (verdict.outcome !== 'events' && verdict.outcome !== 'unavailable') return false;
    return clock.now() - Date.parse(message.listedAt) > lateAfterSeconds * 1000;
  }

  function countOutcomes(settlements: readonly Settlement[]): void {
    for (const [feed, ofFeed] of Map.groupBy(settlements, ({ delivery }) => delivery.message?.feed)) {
      const counts = new Map<Outcome | (typeof countedAs)[keyof typeof countedAs], number>();
      for (const { verdict } of ofFeed) {
        if (verdict.kind === 'retry' || verdict.kind === 'forgotten') continue;
        const became = verdict.kind === 'done' ? verdict.outcome : countedAs[verdict.kind];
        counts.set(became, (counts.get(became) ?? 0) + 1);
      }
      for (const [became, count] of counts) observer.count(metrics[became], count, feed);
      observer.count(metrics.lateEvents, ofFeed.filter(isLate).length, feed);
    }
  }

  return { handle, handleAdvert };
}

export type FanOut = ReturnType<typeof createFanOut>;

const subjectOf = (about: Delivery['about']): string => `${about?.partnerAccount}/${about?.advertId}`;

const areMessages = (group: DeliveryGroup): group is Group =>
  group.every(({ message }) => message !== undefined);

/**
 * The fan-out fetches each changed advert and publishes its new status. This file groups a batch by advert and decides
 * whether each advert may be handled now; settle-advert.ts handles one.
 */
import { lateAfterSeconds, metrics } from '../../shared/contract/names.ts';
import { asBridgeFault, BridgeFault } from '../../shared/domain/faults.ts';
import { endOfHold, holdMeanings, holdOf } from '../../shared/domain/holds.ts';
import type { PartnerAccount } from '../../shared/domain/partner-account.ts';
import type { CachedAccounts } from '../../shared/partner-api/cached-rows.ts';
import type { Delivery, Settlement } from '../../shared/ports/queue.ts';
import type { Answers } from '../../shared/state/activity.ts';
import type { AdvertDeps, Group } from './advert.ts';
import { byAdvert, type DeliveryGroup, pagesOf } from './batch.ts';
import {
  afterFault,
  deadLetterOf,
  defaultLongestHiddenMs,
  defaultMaxReceives,
  hold,
  sendBack,
} from './redelivery.ts';
import { settleAdvert } from './settle-advert.ts';

export interface FanOutDeps extends AdvertDeps {
  readonly accounts: Pick<CachedAccounts, 'read' | 'peek'>;
  /** The service's answers, for the log line of a batch. Default: they are not in it. */
  readonly answers?: Pick<Answers, 'take'>;
  /** `heldUntil` of the shared rate budget as it is now. */
  readonly bridgePausedUntil: () => Promise<number>;
  readonly settings: AdvertDeps['settings'] & {
    /** Maximum difference between the queue's clock, which sets `sentAt`, and this process's clock, ms. Default 1,000. */
    readonly clockSkewMs?: number;
  };
}

export interface HandleOptions {
  /** Ms since 1970: no work begins after this moment. */
  readonly deadlineMs: number;
}

/** Delay of a message whose generation is newer than the stored row of its partner account. */
const generationAheadMs = 5_000;

/** Delay of a message that a newer bridge wrote: a thousand receives take longer than the queue's retention. */
const newerMs = 900_000;

/** Rows of partner accounts, each read at most once per batch. */
type BatchAccounts = Map<string, Promise<PartnerAccount | undefined>>;

/**
 * Whether the generation has ended, or its histories are being removed. Writing a row now would start a history a
 * second time, and a late write of another worker could match the version of the new row.
 */
const isOver = (account: PartnerAccount, generation: number): boolean =>
  account.generation > generation || (account.generation === generation && account.forgetting === true);

const forgotten = (group: Group): Settlement[] =>
  group.map((delivery) => ({ delivery, verdict: { kind: 'forgotten' } }));

/** What the verdicts count as. */
const countedAs = {
  'dead-letter': 'deadLettered',
  hold: 'held',
  retry: undefined,
  forgotten: undefined,
} as const;

export function createFanOut(deps: FanOutDeps) {
  const { accounts, answers, clock, observer, random, bridgePausedUntil } = deps;
  const {
    maxReceives = defaultMaxReceives,
    longestHiddenMs = defaultLongestHiddenMs,
    clockSkewMs = 1_000,
  } = deps.settings;

  /** The partner account in a state not older than the messages: an older one may contain a stop that has ended. */
  function accountOf(group: Group, ofBatch: BatchAccounts): Promise<PartnerAccount | undefined> {
    const { partnerAccount: name, generation } = group[0].message;
    const sentAt = Math.max(...group.map((delivery) => delivery.sentAt));
    const seen = accounts.peek(name);
    if (seen && seen.readAt - clockSkewMs > sentAt && seen.account?.generation === generation)
      return Promise.resolve(seen.account);
    const account = ofBatch.get(name) ?? accounts.read(name);
    ofBatch.set(name, account);
    return account;
  }

  const isLong = (untilMs: number): boolean => untilMs - clock.now() > longestHiddenMs;

  /** Until when the account is on hold, ms since 1970; 0: it is not. */
  function heldUntil(account: PartnerAccount): number {
    const hold = holdOf(undefined, account, clock.now());
    // What only a person ends may end at any moment, and messages must not grow old during it.
    // Planted fault: aged-while-paused
    if (hold && holdMeanings[hold.kind].setsAside) return Number.POSITIVE_INFINITY;
    return hold ? endOfHold(hold) : 0;
  }

  /**
   * Settles messages whose fault comes from a hold, or from the end of their generation. Decides from the rows from
   * which the drain decides what it puts back, so that nothing goes to and fro.
   *
   * @returns undefined where the fault itself decides
   */
  async function settleByHold(group: Group, fault: BridgeFault): Promise<Settlement[] | undefined> {
    const { partnerAccount, generation } = group[0].message;
    // Planted fault: aged-while-paused
    if (fault.code === 'operator-paused') return hold(group);
    const { blames } = fault.policy;
    if (blames === 'service' && (fault.retryAfterMs ?? 0) <= longestHiddenMs) return undefined;
    const bridgeMs = blames === 'partner-account' ? 0 : await bridgePausedUntil();
    if (blames === 'service') return isLong(bridgeMs) ? hold(group) : undefined;
    const account = await accounts.read(partnerAccount);
    if (!account) return undefined;
    if (isOver(account, generation)) return forgotten(group);
    const untilMs = Math.max(bridgeMs, account.generation === generation ? heldUntil(account) : 0);
    if (isLong(untilMs)) return hold(group);
    // Rule: no-dead-letter-on-hold
    return untilMs > clock.now() ? sendBack(group, untilMs - clock.now(), random) : undefined;
  }

  /** Settles the messages of one advert together. Never rejects: the verdicts contain the faults. */
  async function settleGroup(
    group: Group,
    ofBatch: BatchAccounts,
    { deadlineMs }: HandleOptions,
  ): Promise<Settlement[]> {
    const [{ message, receives }] = group;
    const { generation } = message;
    // Judged before any other work, because that work may be what crashes.
    // Planted fault: no-giving-up
    if (receives > maxReceives) {
      const text = `delivered ${receives} times without a result: fan-out crashes or times out each time. See its log`;
      return afterFault(deps, group, new BridgeFault('delivered-too-often', text));
    }
    try {
      const account = await accountOf(group, ofBatch);
      if (!account || isOver(account, generation)) return forgotten(group);
      if (account.generation < generation) {
        const text = `the message is of generation ${generation}, its partner account still of ${account.generation}`;
        throw new BridgeFault('transient', text, { retryAfterMs: generationAheadMs });
      }
      // Planted fault: hidden-while-paused
      if (isLong(heldUntil(account))) return hold(group);
      return await settleAdvert(deps, group, deadlineMs);
    } catch (error) {
      const fault = asBridgeFault(error);
      // If the rows cannot be read, the messages stay in the queue and the next delivery decides.
      const settled = await settleByHold(group, fault).catch(() => undefined);
      return settled ?? afterFault(deps, group, fault);
    }
  }

  async function settle(
    group: DeliveryGroup,
    ofBatch: BatchAccounts,
    options: HandleOptions,
  ): Promise<Settlement[]> {
    for (const { receives } of group) if (receives > 1) observer.count(metrics.redelivered, 1);
    return areMessages(group) ? settleGroup(group, ofBatch, options) : group.map(malformed);
  }

  /** Handles a message body that does not match the contract: a newer version of the bridge or another program wrote it. */
  function malformed(delivery: Delivery): Settlement {
    if (delivery.isNewer) {
      observer.warn('a message of a newer bridge waits for that version', { reason: delivery.flaw });
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

  /** Settles the adverts of a batch concurrently and writes one log line. Never rejects. */
  async function handle(deliveries: readonly Delivery[], options: HandleOptions): Promise<Settlement[]> {
    const ofBatch: BatchAccounts = new Map();
    const { begun, putOff } = isolatePoison(byAdvert(deliveries));
    const settled = await Promise.all(begun.map((group) => settle(group, ofBatch, options)));
    const settlements = [...settled.flat(), ...putOff.flatMap((group) => sendBack(group, 0, random))];
    countOutcomes(settlements);
    // One log line per batch: a line per advert would cost half as much as the advert's event.
    if (settlements.length > 0)
      observer.info('batch handled', { pages: pagesOf(settlements), answers: answers?.take() });
    return settlements;
  }

  /**
   * If a message was delivered too often, it or another message of its batch may crash the function: then only such
   * messages are handled, and all others go back to the queue. So do messages behind one that only a newer bridge reads.
   */
  function isolatePoison(groups: readonly DeliveryGroup[]) {
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

  /** Whether an event was published too late. A backfill, resync or audit does not list a new change. */
  function isLate({ delivery: { message }, verdict }: Settlement): boolean {
    if (message?.cause !== 'feed' || verdict.kind !== 'done') return false;
    if (verdict.outcome !== 'events' && verdict.outcome !== 'unavailable') return false;
    return clock.now() - Date.parse(message.listedAt) > lateAfterSeconds * 1000;
  }

  function countOutcomes(settlements: readonly Settlement[]): void {
    const byMetric = Map.groupBy(settlements, ({ verdict }) =>
      verdict.kind === 'done' ? verdict.outcome : countedAs[verdict.kind],
    );
    for (const [became, { length }] of byMetric) if (became) observer.count(metrics[became], length);
    observer.count(metrics.lateEvents, settlements.filter(isLate).length);
  }

  return { handle, handleAdvert };
}

export type FanOut = ReturnType<typeof createFanOut>;

const subjectOf = (about: Delivery['about']): string => `${about?.partnerAccount}/${about?.advertId}`;

const areMessages = (group: DeliveryGroup): group is Group =>
  group.every(({ message }) => message !== undefined);

/**
 * The fan-out fetches each changed advert and publishes its new status. This file groups a batch by advert and decides
 * whether each advert may be handled now; settle-advert.ts handles one.
 */
import { lateAfterSeconds, metrics } from '../../shared/contract/names.ts';
import type { Deadline } from '../../shared/domain/clock.ts';
import { backoffMs } from '../../shared/domain/concurrency.ts';
import { asBridgeFault, BridgeFault } from '../../shared/domain/faults.ts';
import { blamingHold, endOfHold, type Holder, holdMeanings, holdOf } from '../../shared/domain/holds.ts';
import { isOfService } from '../../shared/partner-api/transport.ts';
import type { Delivery, Settlement, Verdict } from '../../shared/ports/queue.ts';
import type { Answers } from '../../shared/state/activity.ts';
import type { BudgetStore } from '../../shared/state/budget.ts';
import type { PartnerAccounts } from '../../shared/state/partner-accounts.ts';
import { type AdvertDeps, type Group, isOver } from './advert.ts';
import { byAdvert, settlementsByPage } from './batch.ts';
import { afterFault, deadLetterOf, sendBack } from './redelivery.ts';
import { settleAdvert } from './settle-advert.ts';
import { createWitness, type WitnessDeps } from './witness.ts';

export interface FanOutDeps extends Omit<AdvertDeps, 'witness'> {
  readonly partnerAccounts: WitnessDeps['partnerAccounts'] & Pick<PartnerAccounts, 'read'>;
  readonly feedStates: WitnessDeps['feedStates'];
  /** The service's answers, for the log line of a batch. Default: they are not in it. */
  readonly answers?: Pick<Answers, 'take'>;
  readonly budgetStore: Pick<BudgetStore, 'read'>;
}

/** Delay of a message whose generation is newer than the stored row of its partner account. */
const generationAheadMs = 5_000;

/** A message whose advert has to wait for its turn comes back so often, and then goes aside, so that many keep no worker busy. */
const mostRefused = 4;
const refused = { baseMs: 5_000, capMs: 10_000 };

/** Delay of a message that a newer bridge wrote: a thousand receives take longer than the queue's retention. */
const newerMs = 900_000;

const all = (group: Group, verdict: Verdict): Settlement[] =>
  group.map((delivery) => ({ delivery, verdict }));
const forgotten = (group: Group) => all(group, { kind: 'forgotten' });
/** Puts the messages aside, until the drain puts them back (functions/drain/release.ts). */
// Planted fault: stopped-wait-in-queue
const hold = (group: Group) => all(group, { kind: 'hold' });

export function createFanOut(options: FanOutDeps) {
  const deps = { ...options, witness: createWitness(options) };
  const { partnerAccounts, answers, clock, observer, random, budgetStore } = deps;
  const { maxReceives, longestHiddenMs } = deps.settings;

  const isLong = (untilMs: number): boolean => untilMs - clock.now() > longestHiddenMs;

  /** Until when the account or the bridge is on hold, ms since 1970; 0: it is not. */
  function heldUntil(account: Holder | undefined, bridge?: Holder): number {
    const hold = holdOf(bridge, account, clock.now());
    // What only a person ends may end at any moment, and messages must not grow old during it.
    // Planted fault: aged-while-paused
    if (hold && holdMeanings[hold.kind].isForPerson) return Number.POSITIVE_INFINITY;
    return endOfHold(hold);
  }

  /**
   * Settles messages whose account or bridge is on hold, or whose generation has ended. Decides from the rows from which
   * the drain decides what it puts back, so that nothing goes to and fro.
   *
   * @returns undefined where the fault itself decides
   */
  async function settleByHold(group: Group, fault: BridgeFault): Promise<Settlement[] | undefined> {
    const { partnerAccount, generation } = group[0].message;
    // Planted fault: aged-while-paused
    if (fault.code === 'operator-paused') return hold(group);
    const [account, bridge] = await Promise.all([partnerAccounts.read(partnerAccount), budgetStore.read()]);
    if (!account || isOver(account, generation)) return forgotten(group);
    const untilMs = heldUntil(account.generation === generation ? account : undefined, bridge);
    if (isLong(untilMs)) return hold(group);
    if (untilMs > clock.now()) return sendBack(group, untilMs - clock.now(), random);
    // The adverts of the account go one at a time: another one has the turn, or had it when this one asked.
    if (fault.code === 'account-paused') {
      const { receives } = group[0];
      // Rule: refused-turns-go-aside
      if (receives > mostRefused) return hold(group);
      return sendBack(group, backoffMs(receives, { ...refused, random: () => 0.5 + random() / 2 }), random);
    }
    const isAlike = blamingHold(account) !== undefined;
    return isAlike && isOfService(fault) ? afterFault(deps, group, fault, { isAlike }) : undefined;
  }

  /** Settles the messages of one advert together. Never rejects: the verdicts contain the faults. */
  async function settleMessages(
    group: Group,
    readAccount: PartnerAccounts['read'],
    { deadlineMs }: Deadline,
  ): Promise<Settlement[]> {
    const [{ message, receives }] = group;
    const { partnerAccount, generation } = message;
    // Judged before any other work, because that work may be what crashes.
    // Planted fault: no-giving-up
    if (receives > maxReceives) {
      const text = `delivered ${receives} times without a result: fan-out crashes or times out each time. See its log`;
      return afterFault(deps, group, new BridgeFault('delivered-too-often', text));
    }
    try {
      const account = await readAccount(partnerAccount);
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

  /** Handles a message body that does not match the contract: a newer version of the bridge or another program wrote it. */
  function settleMalformed(delivery: Delivery): Settlement {
    if (delivery.isNewer) {
      observer.warn('a message of a newer bridge waits for that version', { reason: delivery.flaw });
      observer.count(metrics.needsAttention, 1);
      return { delivery, verdict: { kind: 'retry', delayMs: newerMs } };
    }
    const reason = delivery.flaw ?? 'the message is not of the contract';
    const deadLetter = deadLetterOf(delivery, { fault: 'malformed-message', reason }, clock.now());
    return { delivery, verdict: { kind: 'dead-letter', deadLetter } };
  }

  function counted(settlements: Settlement[]): Settlement[] {
    for (const settlement of settlements) {
      if (settlement.delivery.receives > 1) observer.count(metrics.redelivered, 1);
      const became = countedAs(settlement.verdict);
      if (became) observer.count(metrics[became], 1);
      if (isLate(settlement)) observer.count(metrics.lateEvents, 1);
    }
    return settlements;
  }

  /** Whether an event was published too late. A backfill, resync or audit does not list a new change. */
  function isLate({ delivery: { message }, verdict }: Settlement): boolean {
    if (message?.cause !== 'feed' || verdict.kind !== 'done') return false;
    if (verdict.outcome !== 'events' && verdict.outcome !== 'unavailable') return false;
    return clock.now() - Date.parse(message.listedAt) > lateAfterSeconds * 1000;
  }

  /**
   * If a message was delivered too often, it or another message of its batch may crash the function: then only such
   * messages are handled, and all others go back to the queue. So do messages behind one that only a newer bridge reads.
   */
  function isolatePoison(groups: readonly Group[], unread: readonly Delivery[]): (group: Group) => boolean {
    const isSpent = ([{ receives }]: Group) => receives > maxReceives;
    const anySpent = groups.some(isSpent);
    const newer = new Set(unread.map(({ isNewer, about }) => isNewer && subjectOf(about)));
    return (group) => !newer.has(subjectOf(group[0].message)) && (!anySpent || isSpent(group));
  }

  /** Settles the adverts of a batch concurrently: a promise for each, none of which rejects. Logs only what goes wrong. */
  function handleEach(deliveries: readonly Delivery[], options: Deadline): Promise<Settlement[]>[] {
    // Each row is read once for the batch, and so is never older than a message: an older one may contain a stop that has
    // ended.
    const rows = new Map<string, ReturnType<PartnerAccounts['read']>>();
    const readAccount = (name: string) => {
      const row = rows.get(name) ?? partnerAccounts.read(name);
      rows.set(name, row);
      return row;
    };
    const groups = byAdvert(deliveries);
    const unread = deliveries.filter(({ message }) => message === undefined);
    const mayBegin = isolatePoison(groups, unread);
    return [
      ...groups.map(async (group) =>
        mayBegin(group)
          ? counted(await settleMessages(group, readAccount, options))
          : sendBack(group, 0, random),
      ),
      ...unread.map(async (delivery) => counted([settleMalformed(delivery)])),
    ];
  }

  /** Settles the adverts of a batch concurrently and writes one log line. Never rejects. */
  async function handle(deliveries: readonly Delivery[], options: Deadline): Promise<Settlement[]> {
    const settlements = (await Promise.all(handleEach(deliveries, options))).flat();
    // One log line per batch: a line per advert would cost half as much as the advert's event.
    if (settlements.length > 0)
      observer.info('batch handled', { pages: settlementsByPage(settlements), answers: answers?.take() });
    return settlements;
  }

  return { handle, handleEach };
}

export type FanOut = ReturnType<typeof createFanOut>;

/** The metric that counts a verdict. */
function countedAs(verdict: Verdict) {
  switch (verdict.kind) {
    case 'done':
      return verdict.outcome;
    case 'dead-letter':
      return 'deadLettered';
    case 'hold':
      return 'held';
    case 'retry':
    case 'forgotten':
      return undefined;
  }
}

const subjectOf = (about: Delivery['about']): string => `${about?.partnerAccount}/${about?.advertId}`;

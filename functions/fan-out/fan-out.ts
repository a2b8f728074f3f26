/**
 * The fan-out: fetches each advert named and publishes what became of it.
 *
 * A batch is grouped by advert here; what happens with one advert is in settle-advert.ts, and why each odd step of it
 * is there in docs/decisions/0001-fan-out-protocol.md.
 */
import { metrics } from '../../shared/contract/names.ts';
import { asPartnerError, PartnerError } from '../../shared/domain/faults.ts';
import type { PartnerAccount } from '../../shared/domain/partner-account.ts';
import { pauseOf, stopOf } from '../../shared/domain/partner-account.ts';
import type { Delivery, Outcome, Settlement } from '../../shared/ports/deliveries.ts';
import type { PartnerAccounts } from '../../shared/ports/partner-accounts.ts';
import { type AdvertDeps, firstRow, type Group } from './advert.ts';
import { afterFault, giveUp, park } from './after-fault.ts';
import { byAdvert, type DeliveryGroup } from './by-advert.ts';
import { malformedLetter } from './dead-letter.ts';
import { defaultLongestHiddenMs, defaultMaxReceives, sendBack } from './redelivery.ts';
import { settleAdvert } from './settle-advert.ts';

export interface FanOutDeps extends AdvertDeps {
  readonly accounts: PartnerAccounts;
  /** Until when nobody sends, as the shared rate budget says now; ms since 1970, 0 when nothing was asked for. */
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

/** How long what is known of a partner account is believed of messages that are older than it. */
const accountViewMs = 5_000;

/** A look at a partner account: under way, or what came of it. */
interface View {
  readonly account: Promise<PartnerAccount | undefined>;
  readonly beganAt: number;
  /** The batch that it was begun for. */
  readonly batch: number;
}

/** The metric of each verdict that takes a message out of the queue without an outcome. */
const countedAs = { 'dead-letter': 'deadLettered', park: 'parked' } as const;

export function createFanOut(deps: FanOutDeps) {
  const { clock, observer } = deps;
  const {
    maxReceives = defaultMaxReceives,
    longestHiddenMs = defaultLongestHiddenMs,
    clockSkewMs = 1_000,
  } = deps.settings;
  const views = new Map<string, View>();
  let batches = 0;

  /**
   * The partner account as it was when the message had been sent, or later: an older view may be of a generation or a stop
   * that the message itself shows to be over. So a look is shared by messages that were in hand when it began, and by
   * those sent before it began.
   */
  async function accountOf(group: Group, batch: number): Promise<PartnerAccount | undefined> {
    const { partnerAccount: name, generation } = group[0].message;
    const sentAt = Math.max(...group.map((delivery) => delivery.sentAt));
    const known = views.get(name);
    if (
      known &&
      known.batch !== batch &&
      known.beganAt - clockSkewMs > sentAt &&
      clock.now() - known.beganAt < accountViewMs
    ) {
      const account = await known.account.catch(() => undefined);
      if (account?.generation === generation) return account;
    }
    const own = views.get(name);
    return (own?.batch === batch ? own : look(name, batch)).account;
  }

  function look(name: string, batch: number): View {
    const account = deps.accounts.read(name).then((read) => read?.value);
    const view = { account, beganAt: clock.now(), batch };
    views.set(name, view);
    return view;
  }

  /** Whether the account's messages are to wait outside the queue, with nobody asking for them again and again. */
  function rests(account: PartnerAccount): boolean {
    const pause = pauseOf(account, clock.now());
    return stopOf(account) !== undefined || (pause !== undefined && isLong(pause.until));
  }

  const isLong = (untilMs: number): boolean => untilMs - clock.now() > longestHiddenMs;

  /** Settles the deliveries of one advert, together. Never rejects: what went wrong is in the verdicts. */
  async function handleGroup(group: Group, batch: number, options: HandleOptions): Promise<Settlement[]> {
    const { partnerAccount, generation } = group[0].message;
    if (group[0].receives > maxReceives) return giveUp(deps, group);
    // By what is so now, and what the drain goes by too: else it would be put back and parked in turns.
    const mustWait = async (fault: PartnerError): Promise<boolean> => {
      if (fault.policy.blames === 'partner-account') {
        const account = (await deps.accounts.read(partnerAccount))?.value;
        return account?.generation === generation && rests(account);
      }
      return (fault.retryAfterMs ?? 0) > longestHiddenMs && isLong(await deps.bridgePausedUntil());
    };
    try {
      const account = await accountOf(group, batch);
      if (!account || account.generation > generation) {
        return group.map((delivery) => ({ delivery, verdict: { kind: 'forgotten' } }));
      }
      if (account.generation < generation) {
        const message = `the message is of generation ${generation}, its partner account still of ${account.generation}`;
        throw new PartnerError('transient', message, { retryAfterMs: accountViewMs });
      }
      if (rests(account)) return await park(deps, group);
      return await settleAdvert(deps, group, options.deadlineMs, mustWait);
    } catch (error) {
      return afterFault(deps, group, { row: firstRow, fault: asPartnerError(error), mustWait });
    }
  }

  const settle = (group: DeliveryGroup, batch: number, options: HandleOptions): Promise<Settlement[]> => {
    for (const { receives } of group) if (receives > 1) observer.count(metrics.redelivered, 1);
    return areMessages(group) ? handleGroup(group, batch, options) : malformed(group);
  };

  async function malformed(group: DeliveryGroup): Promise<Settlement[]> {
    return group.map((delivery) => {
      const letter = malformedLetter(delivery, clock.now());
      return { delivery, verdict: { kind: 'dead-letter', letter } };
    });
  }

  /** Settles one advert's deliveries (see {@link byAdvert}); the log hears of what goes wrong. Never rejects. */
  async function handleAdvert(group: DeliveryGroup, options: HandleOptions): Promise<Settlement[]> {
    batches += 1;
    const settlements = await settle(group, batches, options);
    countOutcomes(settlements);
    return settlements;
  }

  /** Settles a batch, its adverts side by side, with a line in the log. Never rejects. */
  async function handle(deliveries: readonly Delivery[], options: HandleOptions): Promise<Settlement[]> {
    batches += 1;
    const batch = batches;
    const { begun, putOff } = withoutRisk(byAdvert(deliveries));
    const settled = await Promise.all(begun.map((group) => settle(group, batch, options)));
    const settlements = [...settled.flat(), ...putOff.flatMap((group) => sendBack(group, 0, deps.random))];
    countOutcomes(settlements);
    // One line a batch: a line an advert would cost half of what its event does.
    if (settlements.length > 0) observer.info('batch handled', { pages: linesOf(settlements) });
    return settlements;
  }

  /**
   * What was delivered too often has probably stood beside something that brings the function down before it settles its
   * batch. So it leaves the queue alone, and the rest of the batch is not begun.
   */
  function withoutRisk(groups: readonly DeliveryGroup[]): {
    readonly begun: readonly DeliveryGroup[];
    readonly putOff: readonly Group[];
  } {
    const isSpent = (group: DeliveryGroup) => areMessages(group) && group[0].receives > maxReceives;
    if (!groups.some(isSpent)) return { begun: groups, putOff: [] };
    return {
      begun: groups.filter((group) => isSpent(group) || !areMessages(group)),
      putOff: groups.filter(areMessages).filter((group) => !isSpent(group)),
    };
  }

  function countOutcomes(settlements: readonly Settlement[]): void {
    const counts = new Map<Outcome | (typeof countedAs)[keyof typeof countedAs], number>();
    for (const { verdict } of settlements) {
      if (verdict.kind === 'retry' || verdict.kind === 'forgotten') continue;
      const became = verdict.kind === 'done' ? verdict.outcome : countedAs[verdict.kind];
      counts.set(became, (counts.get(became) ?? 0) + 1);
    }
    for (const [became, count] of counts) observer.count(metrics[became], count);
  }

  return { handle, handleAdvert };
}

export type FanOut = ReturnType<typeof createFanOut>;

interface PageLine {
  readonly partnerAccount?: string;
  readonly correlationId?: string;
  /** Advert IDs by what became of their messages. */
  readonly adverts: Record<string, (string | undefined)[]>;
  /** How often those were delivered that had been so before, by advert ID. */
  readonly redelivered?: Record<string, number>;
}

/** What a log says of a batch: enough to follow each message from the page of the feed that named it to its event. */
function linesOf(settlements: readonly Settlement[]): PageLine[] {
  const pages = Map.groupBy(
    settlements,
    ({ delivery: { message } }) => `${message?.partnerAccount} ${message?.correlationId}`,
  );
  return [...pages.values()].map((page) => {
    const { partnerAccount, correlationId } = page[0]?.delivery.message ?? {};
    const adverts: PageLine['adverts'] = {};
    for (const { delivery, verdict } of page) {
      const became = verdict.kind === 'done' ? verdict.outcome : verdict.kind;
      adverts[became] = [...(adverts[became] ?? []), delivery.message?.advertId];
    }
    const again = page.filter(({ delivery }) => delivery.receives > 1);
    const redelivered = again.map(({ delivery }) => [delivery.message?.advertId ?? '', delivery.receives]);
    return {
      partnerAccount,
      correlationId,
      adverts,
      ...(again.length > 0 ? { redelivered: Object.fromEntries(redelivered) } : {}),
    };
  });
}

const areMessages = (group: DeliveryGroup): group is Group =>
  group.every(({ message }) => message !== undefined);

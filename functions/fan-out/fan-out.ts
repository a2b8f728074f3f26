/**
 * The fan-out: fetches each advert named and publishes what became of it.
 *
 * A batch is grouped by advert here; what happens with one advert is in settle-advert.ts, and why each odd step of it
 * is there in docs/decisions/fan-out-protocol.md.
 */
import { metrics } from '../../shared/contract/names.ts';
import { stopOf } from '../../shared/domain/accounts.ts';
import type { PartnerAccount, PartnerAccounts } from '../../shared/domain/ports.ts';
import { byAdvert, type DeliveryGroup } from './by-advert.ts';
import { malformedLetter } from './dead-letter.ts';
import type { Delivery, Outcome, Settlement, Verdict } from './ports.ts';
import { type AdvertDeps, type Group, settleAdvert } from './settle-advert.ts';

export interface FanOutDeps extends AdvertDeps {
  readonly accounts: PartnerAccounts;
}

export interface HandleOptions {
  /** Ms since 1970: nothing is begun after it. */
  readonly deadlineMs: number;
}

/** How long what is known of a partner account is believed. */
const accountViewMs = 5_000;
/** How long messages of a stopped account are left alone; `connect` brings them back by then. */
const stoppedDelayMs = 60_000;

export function createFanOut(deps: FanOutDeps) {
  const { clock, observer } = deps;
  const views = new Map<string, { readonly account: PartnerAccount | undefined; readonly readAt: number }>();
  const looks = new Map<string, Promise<PartnerAccount | undefined>>();

  /** @param generation at least so new must the view be: a message may be newer than what was read before it */
  async function viewOf(name: string, generation: number): Promise<PartnerAccount | undefined> {
    const view = views.get(name);
    const fresh = view && clock.now() - view.readAt < accountViewMs;
    if (fresh && view.account?.generation === generation) return view.account;
    // The adverts of a batch share one look. Not with another generation's: that one may be older than this message.
    const key = `${name} ${generation}`;
    const look = looks.get(key) ?? lookAt(name).finally(() => looks.delete(key));
    looks.set(key, look);
    return look;
  }

  async function lookAt(name: string): Promise<PartnerAccount | undefined> {
    const account = (await deps.accounts.read(name))?.value;
    views.set(name, { account, readAt: clock.now() });
    return account;
  }

  /** Settles the deliveries of one advert, together. Never rejects: what went wrong is in the verdicts. */
  async function handleGroup(group: Group, options: HandleOptions): Promise<Settlement[]> {
    const all = (verdict: Verdict) => group.map((delivery) => ({ delivery, verdict }));
    const { partnerAccount, generation } = group[0].message;
    try {
      const account = await viewOf(partnerAccount, generation);
      // A message newer than the account can only be one that was registered a moment ago elsewhere.
      if (account && account.generation < generation) return all({ kind: 'again', delayMs: accountViewMs });
      if (!account || account.generation > generation) return all({ kind: 'forgotten' });
      if (stopOf(account) && clock.now() - group[0].sentAt < deps.settings.mostAgeMs) {
        return all({ kind: 'again', delayMs: stoppedDelayMs });
      }
      return await settleAdvert(deps, group, options.deadlineMs);
    } catch (error) {
      observer.error('an advert could not be handled: its messages come back', { partnerAccount, error });
      return all({ kind: 'again', delayMs: accountViewMs });
    }
  }

  const settle = (group: DeliveryGroup, options: HandleOptions): Promise<Settlement[]> => {
    for (const { receives } of group) if (receives > 1) observer.count(metrics.redelivered, 1);
    return areMessages(group) ? handleGroup(group, options) : malformed(group);
  };

  async function malformed(group: DeliveryGroup): Promise<Settlement[]> {
    return group.map((delivery) => {
      const letter = malformedLetter(delivery, clock.now());
      return { delivery, verdict: { kind: 'dead-letter', letter } };
    });
  }

  /** Settles one advert's deliveries (see {@link byAdvert}); the log hears of what goes wrong. Never rejects. */
  async function handleAdvert(group: DeliveryGroup, options: HandleOptions): Promise<Settlement[]> {
    const settlements = await settle(group, options);
    countOutcomes(settlements);
    return settlements;
  }

  /** Settles a batch, its adverts side by side, with a line in the log. Never rejects. */
  async function handle(deliveries: readonly Delivery[], options: HandleOptions): Promise<Settlement[]> {
    const settled = await Promise.all(byAdvert(deliveries).map((group) => settle(group, options)));
    const settlements = settled.flat();
    countOutcomes(settlements);
    // One line a batch: a line an advert would cost half of what its event does.
    if (settlements.length > 0) observer.info('batch handled', { pages: linesOf(settlements) });
    return settlements;
  }

  function countOutcomes(settlements: readonly Settlement[]): void {
    const counts = new Map<Outcome | 'deadLettered', number>();
    for (const { verdict } of settlements) {
      if (verdict.kind !== 'done' && verdict.kind !== 'dead-letter') continue;
      const became = verdict.kind === 'done' ? verdict.outcome : 'deadLettered';
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

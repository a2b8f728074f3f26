/**
 * The fan-out: fetches each advert named and publishes what became of it.
 *
 * A batch is grouped by advert here; what happens with one advert is in settle-advert.ts, and why each odd step of it
 * is there in docs/decisions/fan-out-protocol.md.
 */
import { metrics } from '../../shared/contract/names.ts';
import { stopOf } from '../../shared/domain/accounts.ts';
import type { PartnerAccount, PartnerAccounts } from '../../shared/domain/ports.ts';
import { malformedLetter } from './dead-letter.ts';
import type { Delivery, Settlement, Verdict } from './ports.ts';
import { type AdvertDeps, type Group, type MessageDelivery, settleAdvert } from './settle-advert.ts';

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

  async function handle(deliveries: readonly Delivery[], options: HandleOptions): Promise<Settlement[]> {
    const groups = new Map<string, [MessageDelivery, ...MessageDelivery[]]>();
    const settlements: Settlement[] = [];
    for (const delivery of deliveries) {
      if (delivery.receives > 1) observer.count(metrics.redelivered, 1);
      if (!isMessage(delivery)) {
        const letter = malformedLetter(delivery, clock.now());
        settlements.push({ delivery, verdict: { kind: 'dead-letter', letter } });
        continue;
      }
      const { partnerAccount, generation, advertId } = delivery.message;
      const key = `${partnerAccount}/${generation}/${advertId}`;
      const group = groups.get(key);
      if (group) group.push(delivery);
      else groups.set(key, [delivery]);
    }
    const settled = await Promise.all(
      [...groups.values()].map((group) => handleGroup(inOrder(group), options)),
    );
    settlements.push(...settled.flat());
    countOutcomes(settlements);
    // One line a batch: a line an advert would cost half of what its event does.
    if (settlements.length > 0) observer.info('batch handled', { pages: linesOf(settlements) });
    return settlements;
  }

  function countOutcomes(settlements: readonly Settlement[]): void {
    const counted = settlements.flatMap(({ verdict }) => {
      if (verdict.kind === 'done') return verdict.outcome;
      return verdict.kind === 'dead-letter' ? 'deadLettered' : [];
    });
    for (const [outcome, { length }] of Map.groupBy(counted, (outcome) => outcome)) {
      observer.count(metrics[outcome], length);
    }
  }

  return { handle };
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

const isMessage = (delivery: Delivery): delivery is Delivery & MessageDelivery =>
  delivery.message !== undefined;

const inOrder = (group: [MessageDelivery, ...MessageDelivery[]]): Group =>
  group.sort((a, b) => (a.position < b.position ? -1 : 1));

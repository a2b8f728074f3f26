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

  /** @param generation at least so new must the view be: a message may be newer than what was read before it */
  async function viewOf(name: string, generation: number): Promise<PartnerAccount | undefined> {
    const view = views.get(name);
    const fresh = view && clock.now() - view.readAt < accountViewMs;
    if (fresh && view.account?.generation === generation) return view.account;
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
    if (settlements.length > 0) observer.info('batch handled', { adverts: settlements.map(lineOf) });
    return settlements;
  }

  function countOutcomes(settlements: readonly Settlement[]): void {
    for (const { verdict } of settlements) {
      if (verdict.kind === 'done') observer.count(metrics[verdict.outcome], 1);
      if (verdict.kind === 'dead-letter') observer.count(metrics.deadLettered, 1);
    }
  }

  return { handle };
}

export type FanOut = ReturnType<typeof createFanOut>;

/** What a log says of one message: enough to follow it from the page of the feed to its event. */
const lineOf = ({ delivery: { message, receives }, verdict }: Settlement) => ({
  partnerAccount: message?.partnerAccount,
  advertId: message?.advertId,
  correlationId: message?.correlationId,
  receives,
  verdict: verdict.kind === 'done' ? verdict.outcome : verdict.kind,
});

const isMessage = (delivery: Delivery): delivery is Delivery & MessageDelivery =>
  delivery.message !== undefined;

const inOrder = (group: [MessageDelivery, ...MessageDelivery[]]): Group =>
  group.sort((a, b) => (a.position < b.position ? -1 : 1));

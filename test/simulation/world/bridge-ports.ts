/** The bridge's ports as one process sees them: every call may go wrong, and performed calls are observed. */

import type { AdvertEvent } from '../../../shared/contract/events.ts';
import type { ChangedAdvert } from '../../../shared/contract/messages.ts';
import { onEach } from '../../../shared/ports/event-publisher.ts';
import type { ChangedAdvertsQueue, MessageAside, Settlement } from '../../../shared/ports/queue.ts';
import type { TokenVault } from '../../../shared/ports/tokens.ts';
import { createAdvertHistories } from '../../../shared/state/advert-histories.ts';
import { createAside } from '../../../shared/state/aside.ts';
import { type BudgetStore, createBudgetStore } from '../../../shared/state/budget.ts';
import { createDeadLetters } from '../../../shared/state/dead-letters.ts';
import { createFeedStates } from '../../../shared/state/feed-states.ts';
import { createPartnerAccounts } from '../../../shared/state/partner-accounts.ts';
import { type CallIncident, callIncidents, reads, writes } from '../model/incidents.ts';
import type { Process } from './process.ts';
import type { SimWorld } from './sim-world.ts';
import { createStorePort } from './store-port.ts';
import type { Seen } from './transport.ts';

const isStored = ({ verdict }: Settlement) => verdict.kind === 'hold' || verdict.kind === 'dead-letter';

export function createBridgePorts(world: SimWorld, process: Process, seen: Seen) {
  const { state, history, users, tokenWatch, traffic, coverage } = world;
  const { queue } = state;

  const call =
    <A extends unknown[], R>(
      name: string,
      allowed: readonly CallIncident[],
      perform: (...args: A) => Promise<R>,
    ) =>
    (...args: A): Promise<R> =>
      process.call({ name, allowed, perform: () => perform(...args), says: () => JSON.stringify(args) });

  /** A call that may be performed for some of its items only. */
  const callWithMany =
    <T, R>(
      name: string,
      says: (item: T) => string,
      perform: (kept: readonly T[], all: readonly T[]) => Promise<R>,
    ) =>
    (items: readonly T[]): Promise<R> =>
      process.call({
        ...{ name, allowed: callIncidents },
        perform: () => perform(items, items),
        inPart: (keeps) => perform(items.filter(keeps), items),
        says: () => items.map(says).join(' '),
      });

  /** The page that listed the advert. A slow poll may send a page's IDs after the next poll has read another page. */
  const pageWith = ({ partnerAccount, advertId }: ChangedAdvert) => {
    const pages = seen.pages.get(partnerAccount);
    return pages?.findLast(({ data }) => data.some((id) => String(id) === advertId)) ?? pages?.at(-1);
  };

  async function send(kept: readonly ChangedAdvert[], all: readonly ChangedAdvert[]) {
    if (kept.length < all.length) coverage.count('queue: refused in part');
    await queue.send(kept);
    for (const message of kept) {
      // The drain's own audit takes its adverts from the histories, and not from a page.
      const page = message.cause === 'audit' ? undefined : pageWith(message);
      history.accepted(message, page);
      users.listed(message, page);
    }
    return new Set(all.filter((message) => !kept.includes(message)).map(({ key }) => key));
  }

  async function sendAgain(kept: readonly MessageAside[], all: readonly MessageAside[]) {
    coverage.count('aside: released');
    await queue.sendAgain(kept);
    return new Set(all.filter((one) => !kept.includes(one)).map(({ etag }) => etag));
  }

  async function settle(settlements: readonly Settlement[]): Promise<void> {
    for (const { verdict } of settlements)
      coverage.count(`verdict: ${verdict.kind === 'done' ? verdict.outcome : verdict.kind}`);
    world.operator.settled(settlements);
    const before = (await queue.figures()).waiting;
    await queue.settle(settlements.filter((settlement) => !isStored(settlement)));
    // Their rows are stored already, so the queue counts them no more.
    const verdict = { kind: 'forgotten' } as const;
    await queue.settle(settlements.filter(isStored).map(({ delivery }) => ({ delivery, verdict })));
    const gone = settlements.filter(({ verdict }) => verdict.kind !== 'retry').length;
    if (before - (await queue.figures()).waiting < gone) coverage.count('queue: receipt too old');
    for (const { delivery, verdict } of settlements) {
      if (verdict.kind === 'retry' || isStored({ delivery, verdict }) || !delivery.message) continue;
      if (verdict.kind === 'done') history.settled(delivery.message.key);
      history.judge(delivery.message.key, verdict.kind);
    }
  }

  const publishOn = (bus: SimWorld['buses'][number]) => (envelope: string) =>
    process.call({
      ...{ name: 'events.publish', allowed: writes },
      async perform() {
        await bus.publish(envelope);
        if (world.buses.every(({ has }) => has(envelope))) history.published(envelope);
      },
      says() {
        const { metadata, data } = (JSON.parse(envelope) as AdvertEvent).detail;
        const { advertId = 'authorization', status, previousStatus } = data;
        return `${metadata.sequence} of ${metadata.partnerAccount}/${advertId}: ${status} after ${previousStatus}, ${bus.kind} bus`;
      },
    });
  const { publish } = onEach(world.buses.map((bus) => ({ publish: publishOn(bus) })));

  const store = createStorePort(world, process, seen);
  // Planted fault: budget-per-process
  const budget = createBudgetStore(store);
  const changeBudget: BudgetStore['change'] = (rule) =>
    budget.change(rule).catch((error: unknown) => {
      traffic.pauseNotStored(process);
      throw error;
    });
  const write: TokenVault['write'] = (account, pair) => {
    tokenWatch.storing(process, account);
    for (const notify of world.storing) notify(process, account);
    const perform = async () => {
      const version = await state.vault.write(account, pair);
      tokenWatch.stored(process, account, pair, version);
      return version;
    };
    return process.call({ name: 'vault.write', allowed: writes, perform, says: () => account });
  };
  const changedAdverts: ChangedAdvertsQueue = {
    depth: call('queue.depth', reads, queue.depth),
    send: callWithMany('queue.send', ({ key }) => key, send),
    sendAgain: callWithMany('queue.sendAgain', ({ key }) => key.name, sendAgain),
  };

  return {
    store,
    partnerAccounts: createPartnerAccounts(store),
    feedStates: createFeedStates(store),
    histories: createAdvertHistories(store),
    queue: changedAdverts,
    aside: createAside(store),
    deadLetters: createDeadLetters(store),
    inbox: { receive: call('queue.receive', writes, queue.receive) },
    settler: {
      settle: callWithMany(
        'queue.settle',
        ({ delivery, verdict }: Settlement) => `${delivery.message?.key}: ${JSON.stringify(verdict)}`,
        settle,
      ),
    },
    // Planted fault: refused-events-ignored
    events: { publish },
    // As drain and fan-out use it.
    // Planted fault: early-end-not-noticed
    budgetStore: { read: budget.read },
    vault: {
      read: call('vault.read', reads, state.vault.readLate),
      remove: call('vault.remove', writes, state.vault.remove),
      write,
    },
    applicationSecret: { read: call('application.read', reads, state.applicationSecret.read) },
    budget: { read: budget.read, change: changeBudget },
  };
}

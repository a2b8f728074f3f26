/** The bridge's ports as one process sees them: every call may go wrong, and performed calls are observed. */

import type { HistoryOwner } from '../../../shared/domain/advert-event.ts';
import type { EventPublisher } from '../../../shared/ports/event-publisher.ts';
import type { ChangedAdvertsQueue, Inbox, Settlement, Settler } from '../../../shared/ports/queue.ts';
import type { Store } from '../../../shared/ports/store.ts';
import type { ApplicationSecret, TokenVault } from '../../../shared/ports/tokens.ts';
import { type AdvertHistories, createAdvertHistories } from '../../../shared/state/advert-histories.ts';
import { type Aside, createAside, createDeadLetters, type DeadLetters } from '../../../shared/state/aside.ts';
import { type BudgetStore, createBudgetStore, heldUntil } from '../../../shared/state/budget.ts';
import type { createFeedStates, FeedStates } from '../../../shared/state/feed-states.ts';
import { createPartnerAccounts, type PartnerAccounts } from '../../../shared/state/partner-accounts.ts';
import { type CallIncident, callIncidents } from '../model/incidents.ts';
import type { Process } from './process.ts';
import type { SimWorld } from './sim-world.ts';
import { createStorePort } from './store-port.ts';
import type { Seen } from './transport.ts';
import { createFanOutWatch } from './watch-coverage.ts';

export interface BridgePorts {
  readonly store: Store;
  readonly accounts: PartnerAccounts;
  readonly feedStates: FeedStates;
  readonly histories: AdvertHistories;
  readonly queue: ChangedAdvertsQueue;
  readonly deadLetters: DeadLetters;
  readonly inbox: Inbox;
  readonly settler: Settler;
  readonly events: EventPublisher;
  readonly vault: TokenVault;
  readonly applicationSecret: Pick<ApplicationSecret, 'read'>;
  readonly budget: BudgetStore;
  readonly aside: Aside;
  /** As drain and fan-out use it. */
  readonly bridgePausedUntil: () => Promise<number>;
}

const writes = callIncidents.filter((kind) => kind !== 'in-part');
const reads: readonly CallIncident[] = ['crash-before', 'refused', 'answer-late'];

export interface PortsOptions {
  readonly seen: Seen;
  readonly isBudgetOwn: boolean;
  /** With or without a planted fault. */
  readonly createFeedStates: typeof createFeedStates;
}

export function createBridgePorts(
  world: SimWorld,
  process: Process,
  { seen, isBudgetOwn, createFeedStates }: PortsOptions,
): BridgePorts {
  const { state, history, users, tokenWatch, traffic, coverage } = world;
  const fanOut = createFanOutWatch(coverage);
  const { queue } = state;

  const call =
    <A extends unknown[], R>(
      name: string,
      allowed: readonly CallIncident[],
      perform: (...args: A) => Promise<R>,
    ) =>
    (...args: A): Promise<R> =>
      process.call({ name, allowed, perform: () => perform(...args), says: () => JSON.stringify(args) });

  /** The page that listed the advert. A slow poll may send a page's IDs after the next poll has read another page. */
  const pageWith = ({ partnerAccount, advertId }: HistoryOwner) => {
    const pages = seen.pages.get(partnerAccount);
    return pages?.findLast(({ data }) => data.some((id) => String(id) === advertId)) ?? pages?.at(-1);
  };

  const sendAll = async (messages: Parameters<ChangedAdvertsQueue['send']>[0]) => {
    const refused = await queue.send(messages);
    for (const message of messages) {
      // The drain's own audit takes its adverts from the histories, and not from a page.
      const page = message.cause === 'audit' ? undefined : pageWith(message);
      history.accepted(message, page);
      users.listed(message, page);
    }
    return refused;
  };

  const settle: Settler['settle'] = async (settlements) => {
    fanOut.settles(settlements);
    world.operator.settled(settlements);
    const before = (await queue.figures()).waiting;
    const isStored = ({ verdict }: Settlement) => verdict.kind === 'hold' || verdict.kind === 'dead-letter';
    await queue.settle(settlements.filter((settlement) => !isStored(settlement)));
    // Their rows are stored already, so the queue counts them no more.
    const verdict = { kind: 'forgotten' } as const;
    const stored = settlements.filter(isStored).map(({ delivery }) => ({ delivery, verdict }));
    await world.counted(
      stored.flatMap(({ delivery }) => delivery.message ?? []),
      () => queue.settle(stored),
    );
    const gone = settlements.filter(({ verdict }) => verdict.kind !== 'retry').length;
    if (before - (await queue.figures()).waiting < gone) coverage.count('queue: receipt too old');
    for (const { delivery, verdict } of settlements) {
      if (verdict.kind === 'done' && delivery.message) history.settled(delivery.message.key);
      if (verdict.kind !== 'retry' && !isStored({ delivery, verdict }) && delivery.message)
        history.judge(delivery.message.key, verdict.kind);
    }
  };

  const store = createStorePort(world, process, { seen, fanOut, isBudgetOwn });
  const feedStates = createFeedStates(store);
  const budget = createBudgetStore(store);
  const histories = createAdvertHistories(store);
  const publish: EventPublisher['publish'] = async (envelope) => {
    fanOut.publishes(envelope);
    await world.events.publish(envelope);
    history.published(envelope);
  };

  return {
    store,
    accounts: createPartnerAccounts(store),
    feedStates: {
      ...feedStates,
      async acquire(...args) {
        const lease = await feedStates.acquire(...args);
        if (lease && 'heldBy' in lease) coverage.count('drain: lease held');
        return lease;
      },
      async advance(...args) {
        const lease = await feedStates.advance(...args);
        if (!lease) coverage.count('drain: lease lost');
        return lease;
      },
    },
    histories: {
      ...histories,
      remove(account, generation) {
        history.rowsRemoved(account, generation);
        return histories.remove(account, generation);
      },
    },
    queue: {
      sendAgain(held) {
        const messages = held.map(({ message }) => message);
        const send = (some: typeof held) => world.counted(messages, () => queue.sendAgain(some));
        return process.call({
          name: 'queue.sendAgain',
          allowed: callIncidents,
          perform: async () => {
            coverage.count('aside: released');
            return send(held);
          },
          async inPart(keeps) {
            const kept = held.filter(keeps);
            await send(kept);
            return new Set(held.filter((one) => !kept.includes(one)).map(({ etag }) => etag));
          },
          says: () => held.map(({ key }) => key.name).join(' '),
        });
      },
      depth: call('queue.depth', reads, queue.depth),
      send: (messages) =>
        process.call({
          name: 'queue.send',
          allowed: callIncidents,
          perform: () => sendAll(messages),
          async inPart(keeps) {
            const kept = messages.filter(keeps);
            if (kept.length < messages.length) coverage.count('queue: refused in part');
            await sendAll(kept);
            return new Set(messages.filter((message) => !kept.includes(message)).map(({ key }) => key));
          },
          says: () => messages.map(({ key }) => key).join(' '),
        }),
    },
    deadLetters: createDeadLetters(store),
    inbox: {
      receive: call('queue.receive', writes, async (options) => {
        const deliveries = await queue.receive(options);
        return deliveries;
      }),
    },
    settler: {
      settle: (settlements) =>
        process.call({
          name: 'queue.settle',
          allowed: callIncidents,
          perform: () => settle(settlements),
          inPart: (keeps) => settle(settlements.filter(keeps)),
          says: () =>
            settlements
              .map(({ delivery, verdict }) => `${delivery.message?.key}: ${JSON.stringify(verdict)}`)
              .join(', '),
        }),
    },
    events: { publish: call('events.publish', writes, publish) },
    aside: createAside(store),
    bridgePausedUntil: async () => heldUntil(await budget.read(), process.clock.now()),
    vault: {
      read: call('vault.read', reads, state.vault.readLate),
      remove: call('vault.remove', writes, state.vault.remove),
      write(account, pair) {
        tokenWatch.storing(process, account);
        for (const notify of world.storing) notify(process, account);
        const perform = async () => {
          const version = await state.vault.write(account, pair);
          tokenWatch.stored(process, account);
          return version;
        };
        return process.call({ name: 'vault.write', allowed: writes, perform, says: () => account });
      },
    },
    applicationSecret: { read: call('application.read', reads, state.applicationSecret.read) },
    budget: {
      read: budget.read,
      change: (rule) =>
        budget.change(rule).catch((error: unknown) => {
          traffic.pauseNotStored(process);
          throw error;
        }),
    },
  };
}

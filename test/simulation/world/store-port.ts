/** The store as one process sees it: every call may go wrong, and what it writes is shown to the model. */
import type { DeadLetter } from '../../../shared/contract/messages.ts';
import type { Kind } from '../../../shared/contract/names.ts';
import { type HistoryOwner, isPublished } from '../../../shared/domain/advert-event.ts';
import { blamingHold } from '../../../shared/domain/holds.ts';
import type { PartnerAccount } from '../../../shared/domain/partner-account.ts';
import type { Key, Put, Row, Store } from '../../../shared/ports/store.ts';
import type { AdvertRow } from '../../../shared/state/advert-histories.ts';
import type { BudgetState } from '../../../shared/state/budget.ts';
import type { FeedState } from '../../../shared/state/feed-states.ts';
import { type CallIncident, reads, writes } from '../model/incidents.ts';
import { type Process, RemoteError } from './process.ts';
import type { SimWorld } from './sim-world.ts';
import type { Seen } from './transport.ts';
import { checkFeed, checkGeneration } from './watch-feed.ts';

/** A process's view of the budget is as old as a late answer makes it, so these calls are never late. */
const budgetCalls: readonly CallIncident[] = ['crash-before', 'crash-after', 'refused', 'answer-lost'];

/** The account's row as it was before its messages were listed. A write over it is in conflict with the row that is there. */
function fromBackup(row: Row): Row {
  const account = row.value as PartnerAccount;
  return { ...row, etag: 'from a backup', value: { ...account, generation: account.generation - 1 } };
}

export function createStorePort(world: SimWorld, process: Process, seen: Seen): Store {
  const { plan, history, users, tokenWatch, traffic } = world;
  const { store } = world.state;
  function allowedOf(kind: Kind, usual: readonly CallIncident[]): readonly CallIncident[] {
    if (kind === 'bridge') return budgetCalls;
    return kind === 'history' && usual === reads && plan.temper === 'overtaken' ? [...reads, 'late'] : usual;
  }

  function call<T>(
    verb: string,
    { kind, name }: Key,
    usual: readonly CallIncident[],
    perform: () => Promise<T>,
    says = () => name,
  ): Promise<T> {
    return process.call({ name: `${kind}.${verb}`, allowed: allowedOf(kind, usual), perform, says });
  }

  function feedPut(now: FeedState, before: FeedState | undefined): void {
    checkFeed(world, process, { before, now });
    // A `since` that changes without a rejected cursor means a resync.
    if (before?.generation !== now.generation || now.since === before.since || now.resets !== before.resets)
      return;
    world.coverage.count('person: has a feed read again');
    history.resyncBegan(before, now.since);
  }

  function wasPut({ kind, name }: Key, value: unknown, before: unknown): void {
    switch (kind) {
      case 'feed':
        feedPut(value as FeedState, before as FeedState | undefined);
        return;
      case 'account': {
        const account = { ...(value as PartnerAccount), name };
        checkGeneration(world, account, before as PartnerAccount | undefined);
        history.connected(account);
        users.rowWritten(process.name, account, before as PartnerAccount | undefined);
        tokenWatch.accountWritten(process, account, before as PartnerAccount | undefined);
        return;
      }
      case 'dead': {
        const { message, partnerAccount } = value as DeadLetter;
        if (message) history.judge(message.key, 'dead-letter');
        else history.sentMalformed(partnerAccount ?? '');
        if (!message) world.coverage.count('drain: malformed ID');
        return;
      }
      case 'bridge': {
        const [was, is] = [before, value].map((state) => blamingHold((state ?? {}) as BudgetState));
        for (const state of [before, value]) traffic.connected((state as BudgetState | undefined)?.connected);
        if (was && !is) traffic.circuitClosed();
        if (was && !is) world.coverage.count('budget: recovered');
        if (is?.until !== was?.until && is?.since === was?.since) world.coverage.count('budget: trial');
        if (is && is.fault !== was?.fault) world.coverage.count(`budget: ${is.fault}`);
        if (is?.kind === 'circuit' && was?.kind !== 'circuit') traffic.circuitOpened();
      }
    }
  }

  const fetchOf = ({ partnerAccount, advertId }: HistoryOwner) =>
    seen.fetches.get(`${partnerAccount}/${advertId}`);

  function historyPut(owner: HistoryOwner, { envelope }: AdvertRow, fetch: ReturnType<typeof fetchOf>): void {
    if (envelope !== undefined) {
      history.written(envelope, fetch);
      // An event that a setting keeps from the bus counts as published when it is recorded: nothing follows.
      if (!isPublished(JSON.parse(envelope), plan.publishedEvents)) history.published(envelope, true);
    }
    users.fetchWritten(owner, fetch);
  }

  return {
    get: (key) =>
      call('get', key, reads, async () => {
        const row = await store.get(key);
        if (key.kind !== 'account' || !process.name.startsWith('worker')) return row;
        if (world.isTroubled('accounts-unreadable', key.name))
          throw new RemoteError('account.get: unreadable');
        return row && world.isTroubled('accounts-restored', key.name) ? fromBackup(row) : row;
      }),

    list: (kind, listing) =>
      call('list', { kind, name: listing?.prefix ?? '' }, reads, () => store.list(kind, listing)),

    count: (kind, listing) =>
      call('count', { kind, name: listing?.prefix ?? '' }, reads, () => store.count(kind, listing)),

    put(key, value, expected) {
      // What this process has fetched when it sends the row, which may arrive much later.
      const fetch = key.kind === 'history' ? fetchOf(ownerOf(key)) : undefined;
      let written: Put | undefined;
      const perform = async (): Promise<Put> => {
        const before = await store.get(key);
        // A client that repeats its call recognizes its own success.
        if (written && 'etag' in written && before?.etag === written.etag) return written;
        written = await store.put(key, value, expected);
        if (!('etag' in written)) return written;
        if (key.kind === 'history') historyPut(ownerOf(key), value as AdvertRow, fetch);
        else wasPut(key, value, before?.value);
        return written;
      };
      const says = () => `${key.name} ${JSON.stringify({ ...(value as object), envelope: undefined })}`;
      return call('put', key, writes, perform, says);
    },

    remove: (key, expected) =>
      call('remove', key, writes, async () => {
        const row = key.kind === 'account' ? await store.get(key) : undefined;
        const isGone = await store.remove(key, expected);
        // Another person may have connected the name since this one began to forget it.
        if (row && isGone) {
          history.forgets(key.name, (row.value as PartnerAccount).generation);
          world.operator.ended(key.name);
          users.removed(key.name);
        }
        return isGone;
      }),

    add(key, counters) {
      let isCounted = false;
      return call('add', key, writes, async () => {
        // A client that repeats its call counts once.
        if (!isCounted) await store.add(key, counters);
        isCounted = true;
      });
    },
  };
}

function ownerOf({ name }: Key): HistoryOwner {
  const [partnerAccount = '', generation, advertId = ''] = name.split('/');
  return { partnerAccount, generation: Number(generation), feed: 'adverts', advertId };
}

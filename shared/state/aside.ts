/**
 * Messages aside: they are outside the queue, each as a row, and have no result yet. A message on *hold* waits until its
 * account, or the bridge, may send requests again; the drain puts it back. A *dead letter* was given up (dead-letters.ts).
 *
 * The row is stored before the message leaves its former place, and the message is sent before the row is removed. After a
 * crash in between, the message is handled twice, and found unchanged the second time.
 */
import * as v from 'valibot';
import { checked, moment, type OnUnreadable, readRows } from '../contract/checks.ts';
import { type ChangedAdvert, changedAdvert } from '../contract/messages.ts';
import { isLasting } from '../domain/clock.ts';
import type { MessageAside, Settlement, Verdict, WaitingMessage } from '../ports/queue.ts';
import type { Listing, Row, Store } from '../ports/store.ts';
import type { QueueFigures } from './books.ts';
import {
  moveRows,
  type Note,
  noAccount,
  putRow,
  type RowAside,
  removeFrom,
  rowOfBelieved,
  rowOfDeadLetter,
} from './dead-letters.ts';

/** Fan-out repeats what failed after this time at the latest, unless the service asks for a longer wait. */
export const longestOwnMs = 900_000;
/** As many more rows are read as may be unreadable: those stay where they are. */
const maxUnreadable = 100;
/** Of each account, a megabyte. */
const countedAtMost = 1_000;

/** Whether nothing but a hold keeps it aside. A time that is much too far away was written by a wrong clock. */
export const isDue = ({ wait }: Pick<MessageAside, 'wait'>, nowMs: number): boolean =>
  // Rule: wait-has-a-length
  wait === undefined || !isLasting(wait.dueMs, wait.forMs, nowMs);

/** The row of a message that leaves the queue without a result; undefined for other verdicts. */
export function rowAside({ delivery, verdict }: Settlement): RowAside | undefined {
  const { message, position } = delivery;
  if (verdict.kind === 'dead-letter') return rowOfDeadLetter(verdict.deadLetter);
  if (verdict.kind !== 'hold' || !message) return undefined;
  if (verdict.wait || verdict.failedAt !== undefined) return rowOfFailed(message, verdict);
  // The number sorts the messages of an account. An emulator may give two messages the same number.
  const id = `${position.split(':')[0]}:${message.key}`;
  return { key: { kind: 'aside', name: `${message.partnerAccount}/${id}` }, value: { message } };
}

const timeName = (letter: string, ms: number): string => `${letter}${String(ms).padStart(15, '0')}`;
/** After those on hold and redriven, and by time. */
const dueName = (dueMs: number): string => timeName('t', dueMs);
/** After all others: those that wait for a good answer about any advert of their account, by when they failed or may come back. */
const lastName = (ms: number): string => timeName('w', ms);

/** What waits for a good answer about others does not age. */
function rowOfFailed(
  message: ChangedAdvert,
  { wait, failedAt }: Verdict & { readonly kind: 'hold' },
): RowAside {
  const { times = 0, waitedMs = 0 } = message.failed ?? {};
  const { dueMs = failedAt ?? 0, forMs = 0 } = wait ?? {};
  const failed = { times: times + 1, waitedMs: waitedMs + (failedAt === undefined ? forMs : 0) };
  const begin = failedAt === undefined ? dueName(dueMs) : lastName(dueMs);
  const name = `${message.partnerAccount}/${begin}:${message.key}`;
  return {
    key: { kind: 'aside', name },
    value: { message: { ...message, failed }, ...(wait && { wait }) },
  };
}

/** When the oldest was listed that neither failed nor was redriven: of an account, those on hold come before all others. */
function oldestOf(firstRows: ReadonlyMap<string, Row>): string | undefined {
  const first = readRows([...firstRows.values()], messageAside, () => undefined);
  return first
    .flatMap(({ message }) => (message.redriven || message.failed ? [] : message.listedAt))
    .sort()[0];
}

export type Aside = ReturnType<typeof createAside>;

export function createAside(store: Store) {
  /** @param onUnreadable called for a row that cannot be read; it stays where it is. Default: throws {ShapeError} */
  async function list(
    partnerAccount: string,
    listing: Pick<Listing, 'after' | 'upTo' | 'limit'> = {},
    onUnreadable?: OnUnreadable,
  ): Promise<readonly MessageAside[]> {
    const prefix = `${partnerAccount}/`;
    const rows = await store.list('aside', { prefix, ...listing });
    return readRows(rows, messageAside, onUnreadable);
  }

  /** The first row of each partner account that has some, and of `noAccount` if there are notes: one read for each. */
  async function firstRows(): Promise<ReadonlyMap<string, Row>> {
    const rows = new Map<string, Row>();
    for (let after = ''; ; ) {
      const [row] = await store.list('aside', { after, limit: 1 });
      if (!row) return rows;
      const name = row.name.split('/', 1)[0] ?? '';
      rows.set(name, row);
      // Greater than every ID, because IDs are ASCII.
      after = `${name}/~`;
    }
  }

  return {
    list,

    /** Partner accounts that have messages on hold, and `noAccount` if there are notes. */
    accounts: async (): Promise<readonly string[]> => [...(await firstRows()).keys()],

    /** The first that nothing but a hold keeps aside: those on hold, redriven ones, and those that failed and are due. */
    async due(
      partnerAccount: string,
      { nowMs, most }: { readonly nowMs: number; readonly most: number },
      onUnreadable?: OnUnreadable,
    ): Promise<readonly MessageAside[]> {
      const limit = most + maxUnreadable;
      const [now, later] = [nowMs, nowMs + longestOwnMs].map((ms) => `${partnerAccount}/${dueName(ms)}~`);
      const last = `${partnerAccount}/${lastName(0)}`;
      const due: MessageAside[] = [];
      // For what is later, the service has asked, or a clock was far ahead that is right now.
      for (const range of [{ upTo: now }, { after: later, upTo: last }, { after: last }]) {
        const listed = await list(partnerAccount, { ...range, limit }, onUnreadable);
        due.push(...listed.filter((one) => isDue(one, nowMs)));
        if (due.length >= most) break;
      }
      return due.slice(0, most);
    },

    /** The first of those that failed, or wait for another answer: the one that comes back first is the first. */
    failed: (partnerAccount: string, limit?: number, onUnreadable?: OnUnreadable) =>
      list(
        partnerAccount,
        { after: `${partnerAccount}/t`, ...(limit !== undefined && { limit }) },
        onUnreadable,
      ),

    /** Number of those that wait for longer than fan-out lets them wait by itself after a failure. */
    async countLater(partnerAccount: string, nowMs: number): Promise<number> {
      const [after, upTo] = [`${dueName(nowMs + longestOwnMs)}~`, lastName(0)];
      const range = { after: `${partnerAccount}/${after}`, upTo: `${partnerAccount}/${upTo}` };
      return (await list(partnerAccount, range, () => undefined)).filter((one) => !isDue(one, nowMs)).length;
    },

    count: (partnerAccount: string): Promise<number> =>
      store.count('aside', { prefix: `${partnerAccount}/` }),

    /** Stores rows of messages without a result. @returns those that may not leave the queue, each with the reason */
    async store(settlements: readonly Settlement[]): Promise<ReadonlyMap<Settlement, unknown>> {
      const refused = new Map<Settlement, unknown>();
      await Promise.all(
        settlements.map(async (settlement) => {
          const row = rowAside(settlement);
          if (row) await putRow(store, row).catch((error: unknown) => refused.set(settlement, error));
          else if (settlement.verdict.kind === 'hold') refused.set(settlement, 'there is no message');
        }),
      );
      return refused;
    },

    /** What operators did to dead letters, for the log of the drain. */
    async notes() {
      const rows = await store.list('aside', { prefix: `${noAccount}/` });
      const keyOf = (name: string) => ({ kind: 'aside', name }) as const;
      return rows.map(({ name, value, etag }) => ({ key: keyOf(name), etag, note: value as Note }));
    },

    remove: removeFrom(store),

    /** Lets messages that failed come back now, for a try whose answer is believed. */
    believe: (messages: readonly MessageAside[]): Promise<void> => moveRows(store, messages, rowOfBelieved),

    /** The messages on hold of an advert, oldest first. Only for people's commands: it reads all of the partner account. */
    async ofAdvert(partnerAccount: string, advertId: string): Promise<readonly WaitingMessage[]> {
      const held = (await list(partnerAccount)).filter(({ message }) => message.advertId === advertId);
      return held.map(({ message, wait }) => ({
        message,
        place: 'aside',
        receives: 0,
        ...(wait && { until: wait.dueMs }),
      }));
    },

    oldestListedAt: async () => oldestOf(await firstRows()),

    /** Number of messages aside: of each account, at most `countedAtMost` are counted. */
    async figures(): Promise<Omit<QueueFigures, 'deadLetters'>> {
      const first = await firstRows();
      const names = [...first.keys()].filter((name) => name !== noAccount);
      const counted = await Promise.all(
        names.map((name) => store.count('aside', { prefix: `${name}/`, limit: countedAtMost })),
      );
      const oldestListedAt = oldestOf(first);
      return {
        waiting: counted.reduce((sum, count) => sum + count, 0),
        ...(counted.includes(countedAtMost) && { isMore: true }),
        ...(oldestListedAt !== undefined && { oldestListedAt }),
      };
    },
  };
}

const rowValue = v.object({
  message: changedAdvert,
  wait: v.exactOptional(v.object({ dueMs: moment, forMs: v.number() })),
});

/** @throws {ShapeError} */
function messageAside({ name, value, etag }: Row): MessageAside {
  const read = checked(rowValue, value ?? {}, `message aside ${name}`);
  return { key: { kind: 'aside', name }, etag, ...read };
}

/**
 * Messages aside: they wait outside the queue, each as a row, because nothing is to be asked of the service for their
 * account or for the bridge. The drain puts them back when the hold ends.
 *
 * Fan-out stores the row before the message leaves the queue, and the drain sends the message before it removes the row.
 * After a crash in between, the message is handled twice, and found unchanged the second time.
 */
import { checked, type OnUnreadable, readRows } from '../contract/checks.ts';
import { type ChangedAdvert, changedAdvert } from '../contract/messages.ts';
import type { Position } from '../domain/queue/position.ts';
import type { HeldMessage } from '../ports/changed-adverts-queue.ts';
import type { Row, Store } from '../ports/store.ts';
import type { WaitingMessage, WaitingMessages } from '../ports/waiting-messages.ts';

export interface Aside {
  /** Stores messages; one that is stored already stays unchanged. */
  hold(held: readonly HeldMessage[]): Promise<void>;
  /** Partner accounts that have messages aside: one read for each. */
  accounts(): Promise<readonly string[]>;
  /** The account's messages, oldest first. */
  list(partnerAccount: string, limit?: number): Promise<readonly HeldMessage[]>;
  remove(held: readonly HeldMessage[]): Promise<void>;
  /** Number of messages of all accounts, and when the oldest was listed. */
  figures(): Promise<{ readonly waiting: number; readonly oldestListedAt?: string }>;
}

/** Greater than every ID, because IDs are ASCII. */
const afterAll = '~';

/**
 * ID of the message of a delivery. It includes the key, because an emulator may give two messages the same number.
 *
 * @param position of any of its deliveries
 */
export const heldIdOf = (position: Position, { key }: ChangedAdvert): string =>
  `${position.split(':')[0]}:${key}`;

/** @param onUnreadable called for a row that cannot be read; it stays where it is. Default: throws {ShapeError} */
export function createAside(store: Store, onUnreadable?: OnUnreadable): Aside {
  async function list(partnerAccount: string, limit?: number): Promise<HeldMessage[]> {
    const prefix = `${partnerAccount}/`;
    const rows = await store.list('aside', { prefix, ...(limit !== undefined && { limit }) });
    return readRows(
      rows,
      (row) => ({ id: row.name.slice(prefix.length), message: messageOf(row) }),
      onUnreadable,
    );
  }

  async function accounts(): Promise<string[]> {
    const names: string[] = [];
    for (let after = ''; ; ) {
      const [row] = await store.list('aside', { after, limit: 1 });
      if (!row) return names;
      const name = row.name.split('/', 1)[0] ?? '';
      names.push(name);
      after = `${name}/${afterAll}`;
    }
  }

  return {
    accounts,
    list,
    async hold(held) {
      await Promise.all(held.map((one) => store.put(asideKeyOf(one), { message: one.message }, 'absent')));
    },
    async remove(held) {
      await Promise.all(held.map((one) => store.remove(asideKeyOf(one))));
    },
    async figures() {
      const all = (await Promise.all((await accounts()).map((name) => list(name)))).flat();
      const [oldestListedAt] = all.map(({ message }) => message.listedAt).sort();
      return { waiting: all.length, ...(oldestListedAt !== undefined && { oldestListedAt }) };
    },
  };
}

export const asideKeyOf = ({ id, message }: HeldMessage) =>
  ({ kind: 'aside', name: `${message.partnerAccount}/${id}` }) as const;

/** @throws {ShapeError} */
const messageOf = ({ name, value }: Row): ChangedAdvert =>
  checked(changedAdvert, (value as { message?: unknown } | undefined)?.message, `message aside ${name}`);

/** The messages aside of an advert, by reading all of its partner account. */
export const waitingAside = (aside: Pick<Aside, 'list'>): WaitingMessages => ({
  async ofAdvert(partnerAccount, advertId) {
    const held = await aside.list(partnerAccount);
    return held.flatMap(({ message }): WaitingMessage[] =>
      message.advertId === advertId ? [{ message, place: 'aside', receives: 0 }] : [],
    );
  },
});

import { describe, expect, it } from 'vitest';
import type { ChangedAdvert } from '../../shared/contract/messages.ts';
import type { ChangedAdvertsQueue, Delivery, Inbox, Settler } from '../../shared/ports/queue.ts';
import type { Aside } from '../../shared/state/aside.ts';
import type { BookKeeper } from '../../shared/state/books.ts';
import { changedAdvert, settlement } from '../helpers/records.ts';
import { type Cleaned, subjects } from './harness.ts';

export interface AsideSubject extends Cleaned {
  readonly queue: ChangedAdvertsQueue & Inbox & Settler;
  readonly aside: Aside;
  /** Where the books are one step with what is counted. */
  readonly bookKeeper?: BookKeeper;
}

const all = { maxGroups: 1_000, maxPerGroup: 10, visibilityMs: 30_000 };

/** Messages that wait outside the queue. */
export function asideSuite(name: string, make: () => Promise<AsideSubject>): void {
  describe(`${name}: messages aside`, () => {
    const subject = subjects(make);

    async function received({ queue }: AsideSubject): Promise<Delivery[]> {
      const taken: Delivery[] = [];
      for (let some = await queue.receive(all); some.length > 0; some = await queue.receive(all)) {
        taken.push(...some);
      }
      return taken;
    }

    /** Sends messages and puts them aside. */
    async function holding(made: AsideSubject, messages: readonly ChangedAdvert[]): Promise<void> {
      await made.queue.send(messages);
      const deliveries = await received(made);
      await made.queue.settle(deliveries.map((delivery) => settlement(delivery, { kind: 'hold' })));
    }

    const adverts = (count: number, partnerAccount = 'main') =>
      Array.from({ length: count }, (_, index) =>
        changedAdvert({
          partnerAccount,
          advertId: String(100 + index),
          key: `${partnerAccount}-read:${index}`,
        }),
      );
    const idsOf = (held: readonly { readonly message: ChangedAdvert }[]) =>
      held.map(({ message }) => message.advertId);

    it('are none at first', async () => {
      const { aside } = await subject();

      expect(await aside.accounts()).toEqual([]);
      expect(await aside.list('main')).toEqual([]);
      expect(await aside.figures()).toEqual({ waiting: 0 });
    });

    it('are listed by partner account, oldest first, and are not delivered', async () => {
      const made = await subject();
      await holding(made, adverts(3));
      await holding(made, adverts(2, 'mainly'));

      expect(await made.aside.accounts()).toEqual(['main', 'mainly']);
      expect(idsOf(await made.aside.list('main'))).toEqual(['100', '101', '102']);
      expect(idsOf(await made.aside.list('main', 2))).toEqual(['100', '101']);
      expect(await made.aside.figures()).toMatchObject({ waiting: 5 });
      expect(await received(made)).toEqual([]);
    });

    it('are delivered again as new messages with the same keys when they are sent again', async () => {
      const made = await subject();
      await holding(made, adverts(12));
      const held = await made.aside.list('main');

      expect((await made.queue.sendAgain(held)).size).toBe(0);
      await made.aside.remove(held);

      const deliveries = await received(made);
      expect(deliveries.map(({ message }) => message?.key).sort()).toEqual(
        held.map(({ message }) => message.key).sort(),
      );
      expect(deliveries.every(({ receives }) => receives === 1)).toBe(true);
      expect(await made.aside.accounts()).toEqual([]);
    });

    it('are delivered once when they are sent again twice, as after a crash', async () => {
      const made = await subject();
      await holding(made, adverts(2));
      const held = await made.aside.list('main');

      await made.queue.sendAgain(held);
      await made.queue.sendAgain(held);

      expect(await received(made)).toHaveLength(2);
    });

    it('may be put aside again', async () => {
      const made = await subject();
      await holding(made, adverts(1));
      const held = await made.aside.list('main');
      await made.queue.sendAgain(held);
      await made.aside.remove(held);

      const deliveries = await received(made);
      await made.queue.settle(deliveries.map((delivery) => settlement(delivery, { kind: 'hold' })));

      expect(idsOf(await made.aside.list('main'))).toEqual(['100']);
    });

    it('count as in flight all the time', async () => {
      const made = await subject();
      if (!made.bookKeeper) return;
      await holding(made, adverts(2));
      const { generation } = changedAdvert();
      const books = () => made.bookKeeper?.read('main', generation);
      expect(await books()).toMatchObject({ listed: 2, inFlight: 2 });

      const held = await made.aside.list('main');
      await made.queue.sendAgain(held);
      await made.aside.remove(held);

      expect(await books()).toMatchObject({ listed: 2, inFlight: 2 });
    });
  });
}

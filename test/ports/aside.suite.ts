import { describe, expect, it } from 'vitest';
import type { ChangedAdvert } from '../../shared/contract/messages.ts';
import type { ChangedAdvertsQueue, Delivery, Inbox, Verdict } from '../../shared/ports/queue.ts';
import type { Aside } from '../../shared/state/aside.ts';
import type { BookKeeper } from '../../shared/state/books.ts';
import { changedAdvert, settlement } from '../helpers/records.ts';
import { type Cleaned, subjects } from './harness.ts';

export interface AsideSubject extends Cleaned {
  readonly queue: ChangedAdvertsQueue & Inbox;
  readonly aside: Aside;
  /** Where the books are one step with what is counted. */
  readonly bookKeeper?: BookKeeper;
}

const all = { maxGroups: 1_000, maxPerGroup: 10, visibilityMs: 30_000 };
const idsOf = (held: readonly { readonly message?: ChangedAdvert }[]) =>
  held.map(({ message }) => message?.advertId);

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

    async function hold(made: AsideSubject, verdict: Verdict = { kind: 'hold' }): Promise<void> {
      const deliveries = await received(made);
      await made.queue.settle(deliveries.map((delivery) => settlement(delivery, verdict)));
    }

    /** Messages of adverts 100, 101 and so on that are aside. */
    async function holding(
      count: number,
      partnerAccount = 'main',
      made?: AsideSubject,
    ): Promise<AsideSubject> {
      const world = made ?? (await subject());
      const advertIds = Array.from({ length: count }, (_, index) => String(100 + index));
      await world.queue.send(advertIds.map((advertId) => changedAdvert({ partnerAccount, advertId })));
      await hold(world);
      return world;
    }

    it('no message is aside at first', async () => {
      const { aside } = await subject();
      expect([await aside.accounts(), await aside.list('main')]).toEqual([[], []]);
      expect(await aside.figures()).toEqual({ waiting: 0 });
    });

    it('messages aside are listed by account, oldest first, not delivered', async () => {
      const made = await holding(2, 'mainly', await holding(3));

      expect(await made.aside.accounts()).toEqual(['main', 'mainly']);
      expect(idsOf(await made.aside.list('main'))).toEqual(['100', '101', '102']);
      expect(idsOf(await made.aside.list('main', { limit: 2 }))).toEqual(['100', '101']);
      expect(await made.aside.figures()).toMatchObject({ waiting: 5 });
      expect(await received(made)).toEqual([]);
    });

    it('messages aside are delivered once, as new, even when sent again twice', async () => {
      const made = await holding(12);
      const held = await made.aside.list('main');

      expect((await made.queue.sendAgain(held)).size).toBe(0);
      await made.queue.sendAgain(held);
      await made.aside.remove(held);

      const deliveries = await received(made);
      expect(deliveries.map(({ message }) => message?.key).sort()).toEqual(
        held.map(({ message }) => message.key).sort(),
      );
      expect(deliveries.every(({ receives }) => receives === 1)).toBe(true);
      expect(await made.aside.accounts()).toEqual([]);
    });

    it('messages aside count as in flight and may be put aside again', async () => {
      const made = await holding(2);
      const counted = async () => made.bookKeeper?.read('main', changedAdvert().generation);
      const inFlight = made.bookKeeper && { listed: 2, inFlight: 2 };
      if (inFlight) expect(await counted()).toMatchObject(inFlight);

      const held = await made.aside.list('main');
      await made.queue.sendAgain(held);
      await made.aside.remove(held);
      if (inFlight) expect(await counted()).toMatchObject(inFlight);

      await hold(made);
      expect(idsOf(await made.aside.list('main'))).toEqual(['100', '101']);
    });

    it('messages aside and queued are found by advert, also while in work', async () => {
      const made = await subject();
      const { queue, aside } = made;
      if (!queue.ofAdvert) return;
      const found = async () =>
        [await aside.ofAdvert('main', '123'), (await queue.ofAdvert?.('main', '123')) ?? []]
          .flat()
          .map(({ message, ...rest }) => [message.key, rest]);
      expect(await found()).toEqual([]);
      const others = [changedAdvert({ advertId: '1234' }), changedAdvert({ partnerAccount: 'other' })];
      await queue.send([changedAdvert({ correlationId: 'a' }), ...others]);
      await hold(made);
      const generation = 1_763_640_001;
      await queue.send([
        changedAdvert({ correlationId: 'b' }),
        changedAdvert({ correlationId: 'c', generation }),
        changedAdvert({ partnerAccount: 'other' }),
      ]);
      await queue.receive({ ...all, maxPerGroup: 1 });

      expect(await found()).toEqual([
        ['a:123', { place: 'aside', receives: 0 }],
        ['b:123', { place: 'queue', receives: 1 }],
        ['c:123', { place: 'queue', receives: 0 }],
      ]);
    });

    it('messages aside are found with the time until which they are delayed', async () => {
      const made = await subject();
      if (!made.queue.ofAdvert) return;
      await made.queue.send([changedAdvert()]);
      await hold(made, { kind: 'retry', delayMs: 60_000 });

      const until = expect.any(Number);
      expect(await made.queue.ofAdvert('main', '123')).toMatchObject([{ receives: 1, until }]);
    });
  });
}

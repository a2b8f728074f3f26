import { describe, expect, it } from 'vitest';
import type { ChangedAdvert } from '../../shared/contract/messages.ts';
import type { ChangedAdvertsQueue, Inbox, Settler, WaitingMessages } from '../../shared/ports/queue.ts';
import { changedAdvert, settlement } from '../helpers/records.ts';
import { type Cleaned, subjects } from './harness.ts';

export interface WaitingSubject extends Cleaned {
  readonly queue: ChangedAdvertsQueue & Inbox & Settler;
  readonly waitingMessages: WaitingMessages;
}

const all = { maxGroups: 100, maxPerGroup: 10, visibilityMs: 30_000 };

/** What waits of one advert, for a person. @param seesQueue false where the queue itself cannot be looked at */
export function waitingMessagesSuite(
  name: string,
  { seesQueue }: { readonly seesQueue: boolean },
  make: () => Promise<WaitingSubject>,
): void {
  const inQueue = it.skipIf(!seesQueue);

  describe(`${name}: waiting messages`, () => {
    const subject = subjects(make);

    /** Sends a message and parks it. */
    async function park({ queue }: WaitingSubject, change: Partial<ChangedAdvert>): Promise<void> {
      await queue.send([changedAdvert(change)]);
      for (let some = await queue.receive(all); some.length > 0; some = await queue.receive(all)) {
        await queue.settle(some.map((delivery) => settlement(delivery, { kind: 'hold' })));
      }
    }

    it('are none at first', async () => {
      const { waitingMessages } = await subject();

      expect(await waitingMessages.ofAdvert('main', '123')).toEqual([]);
    });

    it('are those parked of the advert, and of no other', async () => {
      const made = await subject();
      await park(made, { correlationId: 'a' });
      await park(made, { correlationId: 'b' });
      await park(made, { advertId: '1234' });
      await park(made, { partnerAccount: 'other' });

      const found = await made.waitingMessages.ofAdvert('main', '123');

      expect(found.map(({ message, ...rest }) => [message.key, rest])).toEqual([
        ['a:123', { place: 'aside', receives: 0 }],
        ['b:123', { place: 'aside', receives: 0 }],
      ]);
    });

    inQueue('are those in the queue, of every generation, also while a worker has them', async () => {
      const { queue, waitingMessages } = await subject();
      await queue.send([
        changedAdvert({ correlationId: 'a' }),
        changedAdvert({ advertId: '1234' }),
        changedAdvert({ correlationId: 'b', generation: 1_763_640_001 }),
      ]);
      const [first] = await queue.receive({ ...all, maxGroups: 1, maxPerGroup: 1 });

      const found = await waitingMessages.ofAdvert('main', '123');

      expect(first?.message?.key).toBe('a:123');
      expect(found.map(({ message, ...rest }) => [message.key, rest])).toEqual([
        ['a:123', { place: 'queue', receives: 1 }],
        ['b:123', { place: 'queue', receives: 0 }],
      ]);
    });

    inQueue('tell until when they are put off', async () => {
      const { queue, waitingMessages } = await subject();
      await queue.send([changedAdvert({ correlationId: 'a' })]);
      const [first] = await queue.receive(all);
      await queue.settle([settlement(first, { kind: 'retry', delayMs: 0 })]);
      const [again] = await queue.receive(all);
      const before = await waitingMessages.ofAdvert('main', '123');
      await queue.settle([settlement(again, { kind: 'retry', delayMs: 60_000 })]);
      const [putOff] = await waitingMessages.ofAdvert('main', '123');

      expect(before).toMatchObject([{ place: 'queue', receives: 2 }]);
      expect(before[0]?.until).toBeUndefined();
      expect(putOff?.until).toBeGreaterThan(0);
    });

    inQueue('do not include what has its outcome', async () => {
      const { queue, waitingMessages } = await subject();
      await queue.send([changedAdvert()]);
      const deliveries = await queue.receive(all);
      await queue.settle(deliveries.map((one) => settlement(one, { kind: 'done', outcome: 'events' })));

      expect(await waitingMessages.ofAdvert('main', '123')).toEqual([]);
    });
  });
}

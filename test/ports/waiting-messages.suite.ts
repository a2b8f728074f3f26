import { describe, expect, it } from 'vitest';
import type {
  ChangedAdvertsQueue,
  Inbox,
  Settler,
  Verdict,
  WaitingMessages,
} from '../../shared/ports/queue.ts';
import { changedAdvert, settlement } from '../helpers/records.ts';
import { type Cleaned, subjects } from './harness.ts';

export interface WaitingSubject extends Cleaned {
  readonly queue: ChangedAdvertsQueue & Inbox & Settler;
  readonly waitingMessages: WaitingMessages;
}

const all = { maxGroups: 100, maxPerGroup: 10, visibilityMs: 30_000 };

/** What waits of one advert, for a person, where the queue can be inspected. */
export function waitingMessagesSuite(name: string, make: () => Promise<WaitingSubject>): void {
  describe(`${name}: waiting messages`, () => {
    const subject = subjects(make);

    async function world() {
      const { queue, waitingMessages } = await subject();
      return {
        send: (...changes: Parameters<typeof changedAdvert>[0][]) => queue.send(changes.map(changedAdvert)),
        settleAll: async (verdict: Verdict) =>
          queue.settle((await queue.receive(all)).map((delivery) => settlement(delivery, verdict))),
        receive: () => queue.receive({ ...all, maxGroups: 1, maxPerGroup: 1 }),
        found: async () => {
          const waiting = await waitingMessages.ofAdvert('main', '123');
          return waiting.map(({ message, ...rest }) => [message.key, rest]);
        },
      };
    }

    it('are those of the advert aside, and of no other', async () => {
      const { send, settleAll, found } = await world();
      expect(await found()).toEqual([]);
      await send(
        { correlationId: 'a' },
        { correlationId: 'b' },
        { advertId: '1234' },
        { partnerAccount: 'other' },
      );
      await settleAll({ kind: 'hold' });

      const aside = { place: 'aside', receives: 0 };
      expect(await found()).toEqual([
        ['a:123', aside],
        ['b:123', aside],
      ]);
    });

    it('are those in the queue, of every generation, also while a worker has them', async () => {
      const { send, receive, found } = await world();
      await send(
        { correlationId: 'a' },
        { advertId: '1234' },
        { correlationId: 'b', generation: 1_763_640_001 },
      );
      await receive();
      expect(await found()).toEqual([
        ['a:123', { place: 'queue', receives: 1 }],
        ['b:123', { place: 'queue', receives: 0 }],
      ]);
    });

    it('show until when they are delayed', async () => {
      const { send, settleAll, found } = await world();
      await send({ correlationId: 'a' });
      await settleAll({ kind: 'retry', delayMs: 0 });
      expect(await found()).toEqual([['a:123', { place: 'queue', receives: 1, until: expect.any(Number) }]]);
      await settleAll({ kind: 'retry', delayMs: 60_000 });
      expect(await found()).toEqual([['a:123', { place: 'queue', receives: 2, until: expect.any(Number) }]]);
    });
  });
}

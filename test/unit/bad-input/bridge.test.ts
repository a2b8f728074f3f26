/** What the stages do with bad input: its own message or account suffers, and nothing beside it. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createFanOut } from '../../../functions/fan-out/fan-out.ts';
import { deliveryOf } from '../../../shared/aws/sqs.ts';
import { ShapeError } from '../../../shared/contract/checks.ts';
import {
  type AdvertHistories,
  type AdvertRow,
  createAdvertHistories,
} from '../../../shared/state/advert-histories.ts';
import { createInMemoryStore } from '../../fakes/store.ts';
import { holdOf } from '../../helpers/holds.ts';
import { changedAdvert, tokenPair } from '../../helpers/records.ts';
import { createWorld } from '../../helpers/world.ts';
import { errorOf, marker, nearlyRight, nearlyRightJson, oddValue } from './values.ts';

const right = changedAdvert({ correlationId: `read-${marker}` });
const received = (body: string, index = 0) =>
  deliveryOf({
    ...{ messageId: `id-${index}`, receiptHandle: `receipt-${index}`, body },
    attributes: {
      ...{ ApproximateReceiveCount: '1', SentTimestamp: '1795176000000' },
      SequenceNumber: `1889342123456789012${index}`,
    },
  });

it('a message with an issue does not stop its batch', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(nearlyRightJson(right), { minLength: 1, maxLength: 8 }), async (bodies) => {
      const world = await createWorld();
      const { generation = 0 } = (await world.account()) ?? {};
      world.service.change('7', 'active');
      const good = JSON.stringify(changedAdvert({ advertId: '7', generation }));
      const deliveries = [...bodies, good].map(received);

      const settlements = await world.fanOut.handle(deliveries, world.options());

      const verdicts = new Map(settlements.map(({ delivery, verdict }) => [delivery, verdict]));
      for (const delivery of deliveries) {
        const verdict = verdicts.get(delivery);
        expect(verdict).toBeDefined();
        if (delivery.flaw === undefined) continue;
        if (delivery.isNewer) {
          expect(verdict).toMatchObject({ kind: 'retry' });
          continue;
        }
        const deadLetter = { fault: 'malformed-message', reason: delivery.flaw };
        expect(verdict).toMatchObject({ kind: 'dead-letter', deadLetter });
        expect(JSON.stringify(verdict)).not.toContain(marker);
      }
      const last = verdicts.get(deliveries[bodies.length] as (typeof deliveries)[number]);
      expect(last).toEqual({ kind: 'done', outcome: 'events' });
    }),
    { numRuns: 80 },
  );
});

const row = { sequence: 7, status: 'active', envelope: '{"of":7}', by: 'read-0:1', pending: false };

/** A world with one advert changed whose history reads as `read` has it, and three more that are well. */
async function fannedOut(read: AdvertHistories['read']) {
  const world = await createWorld();
  for (const id of ['1', '2', '3', '4']) world.service.change(id, 'sold');
  await world.round();
  const sound = world.state.advertHistories;
  const advertHistories: AdvertHistories = {
    ...sound,
    read: (key) => (key.advertId === '1' ? read(key) : sound.read(key)),
    write: async (key, next) => (key.advertId === '1' ? next : sound.write(key, next)),
  };
  const fanOut = createFanOut({ ...world.fanOutDeps, advertHistories });
  const batch = await world.state.queue.receive({ maxGroups: 10, maxPerGroup: 10, visibilityMs: 60_000 });
  const settlements = await fanOut.handle(batch, world.options());
  const verdictOf = (id: string) =>
    settlements.find(({ delivery }) => delivery.message?.advertId === id)?.verdict;
  return { world, settlements, verdictOf };
}

it('a history leaves the other adverts of the batch alone, whatever it is', async () => {
  await fc.assert(
    fc.asyncProperty(fc.oneof(nearlyRight({ ...row, etag: 'e' }), oddValue), async (value) => {
      const { settlements, verdictOf } = await fannedOut(async () => value as AdvertRow | undefined);

      expect(settlements).toHaveLength(4);
      for (const id of ['2', '3', '4']) expect(verdictOf(id)).toEqual({ kind: 'done', outcome: 'events' });
    }),
    { numRuns: 150 },
  );
});

it('a history that breaks the contract causes no event and needs attention', async () => {
  for (const wrong of [{ sequence: '7' }, { status: 7 }, { envelope: {} }]) {
    const store = createInMemoryStore();
    await store.put({ kind: 'history', name: 'main/1/1' }, { ...row, ...wrong }, 'absent');
    const owner = { partnerAccount: 'main', generation: 1, feed: 'adverts', advertId: '1' } as const;
    const { world, verdictOf } = await fannedOut(() => createAdvertHistories(store).read(owner));

    expect(verdictOf('1')?.kind).toBe('retry');
    expect(world.advertEvents().map(({ detail }) => detail.metadata.sequence)).toEqual([1, 1, 1]);
    expect(world.observer.counted('NeedsAttention')).toBe(1);
  }
});

it('an unreadable secret is not overwritten, nor its account stopped', async () => {
  const right = JSON.parse(JSON.stringify({ ...tokenPair(), accessToken: marker, refreshToken: marker }));
  await fc.assert(
    fc.asyncProperty(nearlyRightJson(right), async (text) => {
      const world = await createWorld();
      const rejectedVersion = (await world.account())?.token?.version ?? '';
      world.state.editSecret('main', text);
      fc.pre((await errorOf(() => world.state.vault.read('main'))) !== undefined);

      const outcome = await world.refreshToken.refresh(
        { partnerAccount: 'main', rejectedVersion, because: 'token-rejected' },
        world.options(),
      );

      expect(outcome).toMatchObject({ kind: 'failed', fault: 'malformed-pair' });
      expect(JSON.stringify([outcome, world.observer.lines])).not.toContain(marker);
      expect(await errorOf(() => world.state.vault.read('main'))).toBeInstanceOf(ShapeError);
      expect(holdOf(await world.account(), 'authorization')).toBeUndefined();
    }),
    { numRuns: 100 },
  );
});

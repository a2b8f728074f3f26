import { expect, it, onTestFinished, vi } from 'vitest';
import { startWorkers } from '../../../embedded/workers.ts';
import type { Delivery, Settlement } from '../../../shared/ports/queue.ts';
import { createInMemoryState } from '../../fakes/state.ts';
import { createVirtualClock } from '../../helpers/partner-api/virtual-clock.ts';
import { createRecordingObserver } from '../../helpers/recording-observer.ts';
import { changedAdvert } from '../../helpers/records.ts';

/** Workers over a queue with `adverts` messages, whose fan-out takes `handleMs` for each, in virtual time. */
async function make({ adverts, handleMs = 100 }: { adverts: number; handleMs?: number }) {
  const clock = createVirtualClock();
  const begun = clock.now();
  const queue = createInMemoryState({ clock }).queue;
  const observer = createRecordingObserver();
  const handled: string[] = [];
  let inHand = 0;
  let mostInHand = 0;
  let refusals = 0;
  await queue.send(
    Array.from({ length: adverts }, (_, index) => changedAdvert({ advertId: String(index + 1) })),
  );
  const workers = startWorkers({
    queue: {
      receive: (options) => queue.receive(options),
      async settle(settlements) {
        if (refusals > 0) {
          refusals -= 1;
          throw new Error('not now');
        }
        await queue.settle(settlements);
      },
    },
    fanOut: {
      handleEach: (deliveries: readonly Delivery[]) =>
        deliveries.map(async (delivery): Promise<Settlement[]> => {
          inHand += 1;
          mostInHand = Math.max(mostInHand, inHand);
          handled.push(delivery.message?.advertId ?? '');
          await clock.sleep(handleMs);
          inHand -= 1;
          return [{ delivery, verdict: { kind: 'done', outcome: 'events' } }];
        }),
    },
    clock,
    observer,
    concurrency: 2,
  });
  const run = (ms: number) => clock.run(begun + ms);
  onTestFinished(async () => {
    const stopped = workers.stop();
    await run(120_000);
    await stopped;
  });
  const refuse = (times: number) => {
    refusals = times;
  };
  return { workers, queue, observer, handled, mostInHand: () => mostInHand, refuse, run };
}

it('workers take twice as many adverts as connections until all are done', async () => {
  const { queue, handled, mostInHand, run } = await make({ adverts: 10 });

  await run(1_000);

  expect(mostInHand()).toBe(4);
  expect(handled).toHaveLength(10);
  expect(await queue.depth('main')).toBe(0);
});

it('workers settle what they handled until that works, handling it once', async () => {
  const { queue, handled, observer, refuse, run } = await make({ adverts: 1 });
  refuse(3);

  await run(60_000);

  expect(handled).toEqual(['1']);
  expect(await queue.depth('main')).toBe(0);
  expect(observer.lines.map(({ message }) => message)).toEqual(
    Array.from({ length: 3 }, () => 'the messages of an advert could not be settled'),
  );
});

it('stopped workers start nothing and end when their work is settled', async () => {
  const { workers, queue, handled, run } = await make({ adverts: 10 });
  await run(50);

  const stopped = workers.stop();
  await run(1_000);
  await stopped;

  expect(handled).toHaveLength(4);
  expect(await queue.depth('main')).toBe(6);
});

it('workers start nothing that they receive while they are stopped', async () => {
  const { workers, queue, handled, run } = await make({ adverts: 0 });
  await run(10);
  const received = Promise.withResolvers<void>();
  vi.spyOn(queue, 'receive').mockImplementationOnce(async () => {
    await received.promise;
    return queue.receive({ maxGroups: 4, maxPerGroup: 10, visibilityMs: 1_000 });
  });
  await queue.send([changedAdvert({ advertId: '1' })]);
  workers.wake();
  await run(11);

  const stopped = workers.stop();
  received.resolve();
  await run(1_000);
  await stopped;

  expect(handled).toEqual([]);
});

it('woken workers look at once at a message that was sent later', async () => {
  const { workers, queue, handled, run } = await make({ adverts: 0 });
  await run(10);
  await queue.send([changedAdvert({ advertId: '1' })]);

  workers.wake();
  await run(11);

  expect(handled).toEqual(['1']);
});

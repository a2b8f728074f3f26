import { describe, expect, it } from 'vitest';
import { createInMemoryQueue } from '../../fakes/changed-adverts-queue.ts';
import { createManualClock } from '../../helpers/manual-clock.ts';
import { changedAdvert, settlement } from '../../helpers/records.ts';

const many = { maxGroups: 10, maxPerGroup: 10, visibilityMs: 30_000 };
const done = { kind: 'done', outcome: 'events' } as const;
const clock = createManualClock();

describe('the in-memory queue, as the simulation wants it', () => {
  it('without groups hands out one advert’s messages side by side', async () => {
    const queue = createInMemoryQueue({ clock, fifo: false });
    await queue.send([changedAdvert()]);
    expect(await queue.receive(many)).toHaveLength(1);
    await queue.send([changedAdvert()]);
    expect(await queue.receive(many)).toHaveLength(1);
  });

  it('without groups keeps no order', async () => {
    const queue = createInMemoryQueue({ clock, fifo: false });
    const messages = [1, 2, 3].map(() => changedAdvert());
    await queue.send(messages);
    expect((await queue.receive(many)).map(({ message }) => message)).toEqual(messages.toReversed());
  });

  it('without groups shuffles as its source of randomness says', async () => {
    const drawn = [0.5, 0.1, 0.9];
    const queue = createInMemoryQueue({ clock, fifo: false, random: () => drawn.shift() ?? 0 });
    const [first, second, third] = [changedAdvert(), changedAdvert(), changedAdvert()];
    await queue.send([first, second, third]);
    expect((await queue.receive(many)).map(({ message }) => message)).toEqual([second, first, third]);
  });

  it('delivers again on demand while the first worker is still at it', async () => {
    const queue = createInMemoryQueue({ clock });
    await queue.send([changedAdvert(), changedAdvert({ advertId: '9' })]);
    const [slow, other] = await queue.receive(many);
    queue.redeliver(slow?.id);
    const again = await queue.receive(many);
    expect(again.map(({ message, receives }) => [message, receives])).toEqual([[slow?.message, 2]]);
    await queue.settle([settlement(slow, done), settlement(other, done)]);
    expect(await queue.depth('main')).toBe(1);
    queue.redeliver();
    expect(await queue.receive(many)).toHaveLength(1);
  });
});

import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { sendDeadLetters } from '../../../shared/aws/dead-letters.ts';
import { redrive } from '../../../shared/aws/redrive.ts';
import { startSqs } from './emulators.ts';
import { aLetter, aMessage } from './fixtures.ts';

describe('redriving dead letters', () => {
  let sqs: Awaited<ReturnType<typeof startSqs>>;
  beforeAll(async () => {
    sqs = await startSqs();
  });
  afterAll(() => sqs.stop());

  it('gives one partner account’s messages back, uncounts them, and leaves the rest to be seen again', async () => {
    const [queue, deadLetterQueue] = [sqs.createQueue(), sqs.createQueue()];
    const books = { add: vi.fn(async () => {}) };
    const other = aMessage('2', { partnerAccount: 'other' });
    const letters = [
      aLetter({ message: aMessage('1') }),
      aLetter({ partnerAccount: 'other', message: other }),
      aLetter({ message: null }),
    ];
    await sendDeadLetters(
      deadLetterQueue,
      letters.map((letter, index) => ({ id: String(index), letter })),
      {},
    );
    const options = { queue, deadLetterQueue, books };

    expect(await redrive(options, 'main')).toEqual({ redriven: 1, left: 2 });

    expect(queue.bodies().map((body) => JSON.parse(body))).toEqual([aMessage('1')]);
    expect(books.add.mock.calls).toEqual([['main', aMessage().generation, { deadLettered: -1 }]]);
    expect(await redrive(options)).toEqual({ redriven: 1, left: 1 });
  });
});

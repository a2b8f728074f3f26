import { ChangeMessageVisibilityBatchCommand, ReceiveMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { mockClient } from 'aws-sdk-client-mock';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { type HeldLetter, scanDeadLetters } from '../../../shared/aws/sqs/scan-dead-letters.ts';

const sqs = mockClient(SQSClient);
const queue = { client: new SQSClient({ region: 'eu-central-1' }), url: 'https://sqs.example/letters.fifo' };

/** As SQS does it: several of a group in one answer, and nothing of it while one is held. */
function holds(...groups: readonly string[]) {
  const letters = groups.map((group, index) => ({ id: `${group}${index}`, group, isHeld: false }));
  sqs.on(ReceiveMessageCommand).callsFake(() => {
    const locked = new Set(letters.filter(({ isHeld }) => isHeld).map(({ group }) => group));
    const found = letters.filter(({ group }) => !locked.has(group)).slice(0, 10);
    for (const letter of found) letter.isHeld = true;
    return {
      Messages: found.map(({ id, group }) => ({
        MessageId: id,
        ReceiptHandle: id,
        Body: '',
        Attributes: { MessageGroupId: group },
      })),
    };
  });
  sqs.on(ChangeMessageVisibilityBatchCommand).callsFake(({ Entries }) => {
    for (const { ReceiptHandle } of Entries) {
      for (const letter of letters) if (letter.id === ReceiptHandle) letter.isHeld = false;
    }
    return {};
  });
  return letters;
}

beforeEach(() => sqs.reset());
afterAll(() => sqs.restore());

describe('a pass over the dead letters', () => {
  it('meets each once, also those of an advert that two answers share, and shows all again', async () => {
    const letters = holds(...'aaabbbcccdddeeefffgggh');
    const met: HeldLetter[] = [];

    await scanDeadLetters(queue, async (found) => {
      met.push(...found);
      return [];
    });

    expect(met.map(({ id }) => id).sort()).toEqual(letters.map(({ id }) => id).sort());
    expect(letters.filter(({ isHeld }) => isHeld)).toEqual([]);
  });

  it('shows all again when what is done with them fails', async () => {
    const letters = holds('a', 'b');

    await expect(scanDeadLetters(queue, () => Promise.reject(new Error('boom')))).rejects.toThrow('boom');

    expect(letters.filter(({ isHeld }) => isHeld)).toEqual([]);
  });
});

import {
  ChangeMessageVisibilityBatchCommand,
  DeleteMessageBatchCommand,
  ReceiveMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { type HeldLetter, remove, scanDeadLetters } from '../../../../shared/aws/sqs/scan-dead-letters.ts';
import { mockClient } from '../../../helpers/aws/mock-client.ts';

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

  it('holds letters for the length of a pass, and asks all servers of SQS', async () => {
    holds('a');
    await scanDeadLetters(queue, async () => []);
    expect(sqs.commandCalls(ReceiveMessageCommand)[0]?.args[0].input).toMatchObject({
      QueueUrl: queue.url,
      MaxNumberOfMessages: 10,
      VisibilityTimeout: 300,
      WaitTimeSeconds: 1,
    });
  });

  it('tells when each was sent and how often it was received, as far as SQS says so', async () => {
    sqs
      .on(ReceiveMessageCommand)
      .callsFakeOnce(({ MessageSystemAttributeNames }) => {
        const all: Record<string, string> = {
          MessageGroupId: 'g',
          SentTimestamp: '5',
          ApproximateReceiveCount: '3',
        };
        const Attributes = Object.fromEntries(
          MessageSystemAttributeNames.map((name: string) => [name, all[name]]),
        );
        return {
          Messages: [{ MessageId: 'a', ReceiptHandle: 'r', Body: 'text', Attributes }, { MessageId: 'b' }],
        };
      })
      .resolves({});
    sqs.on(ChangeMessageVisibilityBatchCommand).resolves({});
    const met: HeldLetter[] = [];
    await scanDeadLetters(queue, async (found) => {
      met.push(...found);
      return [];
    });
    expect(met).toEqual([
      { id: 'a', receiptHandle: 'r', group: 'g', body: 'text', sentAtMs: 5, receives: 3 },
      { id: 'b', receiptHandle: '', group: 'b', body: '', sentAtMs: 0, receives: 1 },
    ]);
  });

  it('ends when it is enough, before anything is received and after, and shows again what is left', async () => {
    const letters = holds(...'abcdefghijklmno');
    await scanDeadLetters(
      queue,
      () => Promise.reject(new Error('met one')),
      () => true,
    );
    expect(sqs.calls()).toEqual([]);

    const met: HeldLetter[] = [];
    await scanDeadLetters(
      queue,
      async (found) => {
        met.push(...found);
        return found.slice(0, 1);
      },
      () => met.length > 0,
    );
    expect(met).toHaveLength(10);
    // The one that was taken out is not shown again.
    expect(letters.filter(({ isHeld }) => isHeld)).toHaveLength(1);
  });

  it('lets those be that it has shown again and somebody else has received since', async () => {
    const letters = holds(...'aaaaaaaaaabc');
    const shown = new Set<string>();
    sqs.on(ChangeMessageVisibilityBatchCommand).callsFake(({ Entries }) => {
      // They are held by another reader at once.
      for (const { ReceiptHandle } of Entries) {
        expect(shown).not.toContain(ReceiptHandle);
        shown.add(ReceiptHandle);
      }
      return {};
    });

    await scanDeadLetters(queue, async () => []);

    expect(shown.size).toBe(letters.length);
  });

  it('ends when letters come again since it has outlasted their timeout', async () => {
    const one = { MessageId: 'a', ReceiptHandle: 'r', Body: '', Attributes: { MessageGroupId: 'g' } };
    sqs
      .on(ReceiveMessageCommand)
      .resolvesOnce({ Messages: [one] })
      .resolves({ Messages: [one] });
    sqs.on(ChangeMessageVisibilityBatchCommand).resolves({});
    const met: HeldLetter[] = [];
    await scanDeadLetters(queue, async (found) => {
      met.push(...found);
      return [];
    });
    expect(met.map(({ id }) => id)).toEqual(['a']);
  });
});

describe('removing letters', () => {
  const letter = (id: string): HeldLetter => ({
    ...{ id, receiptHandle: `receipt-${id}`, group: id },
    ...{ body: '', sentAtMs: 0, receives: 1 },
  });

  it('goes by tens, and tells which are gone', async () => {
    sqs
      .on(DeleteMessageBatchCommand)
      .resolvesOnce({ Failed: [{ Id: '3', Code: 'x', SenderFault: false }] })
      .resolves({});
    const letters = Array.from({ length: 12 }, (_, index) => letter(String(index)));

    const gone = await remove(queue, letters);

    expect(gone).toEqual(letters.filter(({ id }) => id !== '3'));
    const calls = sqs.commandCalls(DeleteMessageBatchCommand).map(({ args }) => args[0].input);
    expect(calls.map(({ Entries }) => Entries?.map(({ ReceiptHandle }) => ReceiptHandle))).toEqual([
      letters.slice(0, 10).map(({ receiptHandle }) => receiptHandle),
      letters.slice(10).map(({ receiptHandle }) => receiptHandle),
    ]);
  });
});

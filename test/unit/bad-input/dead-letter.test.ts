import { SendMessageBatchCommand, SQSClient } from '@aws-sdk/client-sqs';
import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { idsOf } from '../../../functions/drain/page-ids.ts';
import { sendDeadLetters } from '../../../shared/aws/dead-letters.ts';
import { aLetter } from '../../helpers/aws/fixtures.ts';
import { mockClient } from '../../helpers/aws/mock-client.ts';
import { oddValue } from './nearly-right.ts';

const queue = { client: new SQSClient({}), url: 'https://queue.example/1' };
const sqs = mockClient(queue.client);
beforeEach(() => sqs.reset());

/** The bodies that are sent for what a page names and is no ID. */
async function bodiesOf(data: readonly unknown[]): Promise<string[]> {
  sqs.reset();
  sqs.on(SendMessageBatchCommand).callsFake(async ({ Entries }) => ({ Successful: Entries }));
  const letters = idsOf(data).malformedShown.map((advertId, index) => ({
    id: String(index),
    letter: aLetter({ advertId, message: null }),
  }));
  expect(await sendDeadLetters(queue, letters, {})).toEqual(new Set());
  return sqs
    .commandCalls(SendMessageBatchCommand)
    .flatMap(({ args }) => args[0].input.Entries ?? [])
    .map(({ MessageBody = '' }) => MessageBody);
}

/** @see https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_SendMessage.html */
const isAllowed = (character: string): boolean => {
  const code = character.codePointAt(0) ?? 0;
  const isText = code >= 0x20 && !(code >= 0xd800 && code <= 0xdfff) && code !== 0xfffe && code !== 0xffff;
  return isText || [0x09, 0x0a, 0x0d].includes(code);
};

describe('the letter of an entry that is no ID', () => {
  it('is JSON of a bounded length, whatever the entry was', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(oddValue, { minLength: 1, maxLength: 12 }), async (data) => {
        for (const body of await bodiesOf(data)) {
          expect(JSON.parse(body)).toMatchObject({ advertId: expect.any(String) });
          expect(body.length).toBeLessThan(3_000);
        }
      }),
      { numRuns: 100 },
    );
  });

  // JSON leaves U+FFFE and U+FFFF as they are and SQS refuses them: the page would never be accepted.
  it('has no character that SQS does not take', async () => {
    for (const body of await bodiesOf(['12\uffff'])) expect([...body].every(isAllowed)).toBe(true);
  });
});

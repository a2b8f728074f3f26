import { SendMessageBatchCommand, SQSClient } from '@aws-sdk/client-sqs';
import { mockClient } from 'aws-sdk-client-mock';
import { beforeEach, describe, expect, it } from 'vitest';
import { createDeadLetters } from '../../../shared/aws/dead-letters.ts';
import { aClock, aLetter } from '../../helpers/aws/fixtures.ts';

const sqs = mockClient(SQSClient);
const queue = { client: new SQSClient({}), url: 'https://letters' };
const malformed = (advertId: string, partnerAccount = 'main') =>
  aLetter({ partnerAccount, advertId, fault: 'malformed-id', message: null });

const letters = createDeadLetters({ queue, clock: aClock() });

beforeEach(() => sqs.reset());

describe('malformed IDs', () => {
  it('are sent with IDs that SQS allows, whatever they hold', async () => {
    sqs.on(SendMessageBatchCommand).callsFake(async ({ Entries }) => ({
      Successful: Entries.map(({ Id }: { Id: string }) => ({ Id })),
    }));
    await letters.sendMalformed([malformed('../12'), malformed('żółw '.repeat(40)), malformed('x', 'gone')]);

    const entries = sqs.commandCalls(SendMessageBatchCommand)[0]?.args[0].input.Entries ?? [];
    for (const { MessageGroupId, MessageDeduplicationId } of entries) {
      expect(MessageGroupId).toMatch(/^[0-9a-f]{64}$/);
      expect(MessageDeduplicationId).toMatch(/^[0-9a-f]{64}$/);
    }
    expect(JSON.parse(entries[0]?.MessageBody ?? '')).toEqual(malformed('../12'));
  });

  it('reject when one is refused', async () => {
    sqs.on(SendMessageBatchCommand).resolves({});
    await expect(letters.sendMalformed([malformed('x')])).rejects.toThrow('did not accept 1 of 1');
  });
});

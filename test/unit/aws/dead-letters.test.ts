import { SendMessageBatchCommand, SQSClient } from '@aws-sdk/client-sqs';
import { beforeEach, describe, expect, it } from 'vitest';
import { createDeadLetters } from '../../../shared/aws/dead-letters.ts';
import { aClock, aLetter } from '../../helpers/aws/fixtures.ts';
import { mockClient } from '../../helpers/aws/mock-client.ts';

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

  it('are sent once when their page is read again, and apart from any other', async () => {
    sqs.on(SendMessageBatchCommand).callsFake(async ({ Entries }) => ({
      Successful: Entries.map(({ Id }: { Id: string }) => ({ Id })),
    }));
    const letter = malformed('x');
    await letters.sendMalformed([
      letter,
      { ...letter, at: '2026-11-21T00:00:00.000Z' },
      { ...letter, count: 2 },
      { ...letter, reason: 'another' },
      malformed('y'),
      malformed('x', 'other'),
    ]);
    const entries = sqs.commandCalls(SendMessageBatchCommand)[0]?.args[0].input.Entries ?? [];
    const [first, again, ...others] = entries.map(({ MessageDeduplicationId }) => MessageDeduplicationId);
    expect(again).toBe(first);
    expect(new Set([first, ...others]).size).toBe(5);
    // One line for each advert of a partner account.
    const [group, ...groups] = entries.map(({ MessageGroupId }) => MessageGroupId);
    expect(groups.slice(0, 3)).toEqual([group, group, group]);
    expect(new Set([group, ...groups]).size).toBe(3);
  });

  it('are escaped where they hold what SQS refuses, and read back as they were', async () => {
    sqs
      .on(SendMessageBatchCommand)
      .resolves({ Successful: [{ Id: '0', MessageId: 'm', MD5OfMessageBody: '' }] });
    const odd = malformed('a\ufffeb\uffffc\ufffe');
    await letters.sendMalformed([odd]);
    const body = sqs.commandCalls(SendMessageBatchCommand)[0]?.args[0].input.Entries?.[0]?.MessageBody ?? '';
    expect(body).not.toMatch(/[\ufffe\uffff]/);
    expect(JSON.parse(body)).toEqual(odd);
  });
});

import { BatchGetItemCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { beforeEach, describe, expect, it } from 'vitest';
import { createCoalescedReads } from '../../../../shared/aws/dynamodb/coalesced-reads.ts';
import { aClock } from '../../../helpers/aws/fixtures.ts';
import { mockClient } from '../../../helpers/aws/mock-client.ts';

const dynamo = mockClient(DynamoDBClient);
const table = { client: new DynamoDBClient({}), name: 't' };
const item = (name: string) => ({ pk: { S: name } });

beforeEach(() => dynamo.reset());

describe('coalesced reads', () => {
  it('go together in one consistent call, each key once', async () => {
    dynamo.on(BatchGetItemCommand).resolves({ Responses: { t: [item('b'), item('a')] } });
    const reads = createCoalescedReads(table, 'pk');

    const found = await Promise.all([reads.read('a'), reads.read('b'), reads.read('a'), reads.read('c')]);

    expect(found).toEqual([item('a'), item('b'), item('a'), undefined]);
    const calls = dynamo.commandCalls(BatchGetItemCommand);
    expect(calls).toHaveLength(1);
    expect(calls[0]?.args[0].input.RequestItems?.t).toMatchObject({
      ConsistentRead: true,
      Keys: [item('a'), item('b'), item('c')],
    });
  });

  it('are asked for a hundred at a time', async () => {
    dynamo.on(BatchGetItemCommand).resolves({});
    const reads = createCoalescedReads(table, 'pk');

    await Promise.all(Array.from({ length: 101 }, (_, index) => reads.read(String(index))));

    const asked = dynamo
      .commandCalls(BatchGetItemCommand)
      .map(({ args }) => args[0].input.RequestItems?.t?.Keys);
    expect(asked.map((keys) => keys?.length)).toEqual([100, 1]);
  });

  it('ask again for what throttling left unprocessed, and only for that', async () => {
    dynamo
      .on(BatchGetItemCommand)
      .resolvesOnce({ Responses: { t: [item('a')] }, UnprocessedKeys: { t: { Keys: [item('b')] } } })
      .resolves({ Responses: { t: [item('b')] } });
    const clock = aClock();
    const reads = createCoalescedReads(table, 'pk', { clock, random: () => 0.5 });

    expect(await Promise.all([reads.read('a'), reads.read('b')])).toEqual([item('a'), item('b')]);

    expect(dynamo.commandCalls(BatchGetItemCommand)[1]?.args[0].input.RequestItems?.t?.Keys).toEqual([
      item('b'),
    ]);
    expect(clock.slept).toEqual([25]);
  });

  it('end with a fault when the table stays throttled, those already read apart', async () => {
    dynamo.on(BatchGetItemCommand).resolves({
      Responses: { t: [item('a')] },
      UnprocessedKeys: { t: { Keys: [item('b')] } },
    });
    const clock = aClock();
    const reads = createCoalescedReads(table, 'pk', { clock, random: () => 0.5 });

    const [a, b] = await Promise.allSettled([reads.read('a'), reads.read('b')]);

    expect([a?.status, b?.status]).toEqual(['fulfilled', 'rejected']);
    expect(b).toMatchObject({ reason: { message: '1 reads of t were left unprocessed' } });
    expect(clock.slept).toEqual([25, 50, 100, 200, 400]);
  });

  it('fail together with their call, and the next ones go their own way', async () => {
    dynamo
      .on(BatchGetItemCommand)
      .rejectsOnce(new Error('no route'))
      .resolves({ Responses: { t: [item('a')] } });
    const reads = createCoalescedReads(table, 'pk');

    const asked = await Promise.allSettled([reads.read('a'), reads.read('a'), reads.read('b')]);
    expect(asked.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);

    expect(await reads.read('a')).toEqual(item('a'));
    expect(dynamo.commandCalls(BatchGetItemCommand)[1]?.args[0].input.RequestItems?.t?.Keys).toEqual([
      item('a'),
    ]);
  });
});

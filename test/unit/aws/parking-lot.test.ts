import { DeleteItemCommand, DynamoDBClient, QueryCommand } from '@aws-sdk/client-dynamodb';
import { beforeEach, describe, expect, it } from 'vitest';
import { createParkingLot } from '../../../shared/aws/parking/parking-lot.ts';
import { mockClient } from '../../helpers/aws/mock-client.ts';
import { pagesOf } from '../../helpers/aws/pages.ts';

const dynamo = mockClient(DynamoDBClient);
const lot = createParkingLot({ client: new DynamoDBClient({}), name: 't' });
const start = { pk: { S: 'somewhere' } };

beforeEach(() => dynamo.reset());

describe('the parking lot on DynamoDB', () => {
  it('is counted page by page, of every marked account, strongly consistent', async () => {
    const { answer, starts } = pagesOf<object>(
      { Items: [{ pk: { S: 'x' }, sk: { S: 'main' } }] },
      { Count: 3, LastEvaluatedKey: start },
      // A page may be empty though more follow.
      { LastEvaluatedKey: start },
      { Count: 2 },
    );
    dynamo.on(QueryCommand).callsFake(answer);
    expect(await lot.figures()).toMatchObject({ waiting: 5 });
    const [, ...counts] = dynamo
      .commandCalls(QueryCommand)
      .map(({ args }) => args[0].input)
      .filter(({ Limit }) => Limit === undefined);
    expect(counts.map(({ Select, ConsistentRead }) => [Select, ConsistentRead])).toEqual(
      counts.map(() => ['COUNT', true]),
    );
    expect(starts.slice(0, 4)).toEqual([undefined, undefined, start, start]);
  });

  it('says what is wrong with a row that cannot be read', async () => {
    dynamo
      .on(QueryCommand)
      .resolves({ Items: [{ sk: { S: 'place-1' }, body: { S: '{' } }, { sk: { S: 'place-2' } }] });
    const about = { partnerAccount: null, advertId: null };
    expect(await lot.oldest('main', 10)).toEqual(
      ['place-1', 'place-2'].map((place) => ({ place, flaw: 'message: expected JSON', about })),
    );
    dynamo.on(QueryCommand).resolves({});
    expect(await lot.oldest('main', 10)).toEqual([]);
  });

  it('passes on a fault of the table when a mark is taken away', async () => {
    dynamo.on(DeleteItemCommand).rejects(new Error('no route'));
    await expect(lot.unmark('main', 1)).rejects.toThrow('no route');
  });
});

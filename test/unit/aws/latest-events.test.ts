import { DynamoDBClient, ScanCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createAdvertHistories } from '../../../shared/aws/advert-histories.ts';
import { latestEvents } from '../../../shared/aws/latest-events.ts';
import { startDynamo } from '../../helpers/aws/emulators.ts';
import { anEnvelope } from '../../helpers/aws/fixtures.ts';
import { mockClient } from '../../helpers/aws/mock-client.ts';
import { pagesOf } from '../../helpers/aws/pages.ts';

const key = { partnerAccount: 'main', generation: 1_763_640_000, feed: 'adverts', advertId: '1' } as const;
const row = (envelope?: string) => ({
  sequence: 1,
  status: 'active',
  pending: false,
  version: 1,
  ...(envelope === undefined ? {} : { envelope }),
});

async function all<T>(pages: AsyncIterable<T>): Promise<T[]> {
  const read: T[] = [];
  for await (const page of pages) read.push(page);
  return read;
}

describe('the latest event of every advert on DynamoDB', () => {
  let dynamo: Awaited<ReturnType<typeof startDynamo>>;
  beforeAll(async () => {
    dynamo = await startDynamo();
  });
  afterAll(() => dynamo.stop());

  it('is that of the partner accounts meant, of their present generation', async () => {
    const table = await dynamo.advertStatusTable();
    const histories = createAdvertHistories(table);
    const earlier = { ...key, generation: key.generation - 1 };
    const others = [earlier, { ...key, partnerAccount: 'main2' }];
    await histories.write(key, row(anEnvelope('1')));
    await histories.write({ ...key, advertId: '2' }, row(anEnvelope('2')));
    await histories.write({ ...key, advertId: '3' }, row());
    for (const other of others) await histories.write(other, row(anEnvelope('9')));

    const generations = new Map([
      ['main', key.generation],
      ['nobody', 1],
    ]);
    const pages = await all(latestEvents(table, generations));

    expect(pages.flat().sort()).toEqual([anEnvelope('1'), anEnvelope('2')].sort());
  });
});

describe('a table of several pages', () => {
  const table = { client: new DynamoDBClient({}), name: 't' };
  // This client alone: the others talk to the emulator.
  const mock = mockClient(table.client);
  const item = (advertId: string) => ({
    pk: { S: `main/${key.generation}/${advertId}` },
    envelope: { S: anEnvelope(advertId) },
  });
  const from = (advertId: string) => ({ pk: { S: `main/${key.generation}/${advertId}` } });

  beforeEach(() => mock.reset());

  it('is read to its end for the latest events, each page from where the last one ended', async () => {
    const { answer, starts } = pagesOf(
      { Items: [item('1')], LastEvaluatedKey: from('1') },
      // A page may be empty though more follow.
      { LastEvaluatedKey: from('2') },
      { Items: [{}, item('3')] },
    );
    mock.on(ScanCommand).callsFake(answer);

    const pages = await all(latestEvents(table, new Map([['main', key.generation]])));

    expect(pages).toEqual([[anEnvelope('1')], [], [anEnvelope('3')]]);
    expect(starts).toEqual([undefined, from('1'), from('2')]);
  });

  it('is read to its end to forget a partner account, strongly consistent', async () => {
    const { answer, starts } = pagesOf({ LastEvaluatedKey: from('1') }, { Items: [{ pk: {} as never }] });
    mock.on(ScanCommand).callsFake(answer);

    await createAdvertHistories(table).remove('main', key.generation);

    expect(starts).toEqual([undefined, from('1')]);
    expect(mock.commandCalls(ScanCommand).map(({ args }) => args[0].input.ConsistentRead)).toEqual([
      true,
      true,
    ]);
    // Nothing of it is the account's: nothing is deleted.
    expect(mock.calls()).toHaveLength(2);
  });
});

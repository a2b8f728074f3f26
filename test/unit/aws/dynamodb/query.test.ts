import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { BatchWriteItemCommand, DynamoDBClient, QueryCommand } from '@aws-sdk/client-dynamodb';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { deleteAll, queryAll } from '../../../../shared/aws/dynamodb/query.ts';
import { createFeedStates } from '../../../../shared/aws/feed-states.ts';
import { createStore } from '../../../../shared/aws/store.ts';
import { createPartnerAccounts } from '../../../../shared/state/partner-accounts.ts';
import { aClock } from '../../../helpers/aws/fixtures.ts';
import { mockClient } from '../../../helpers/aws/mock-client.ts';

type Key = Record<string, AttributeValue>;

/**
 * Answers for a mocked query or scan, one a page, the last one again and again; `starts` has where each page began, noted
 * as it was asked for, since the SDK's paginators go on with the same input object.
 */
function pagesOf<Page>(...pages: readonly Page[]) {
  const starts: (Key | undefined)[] = [];
  return {
    starts,
    async answer({ ExclusiveStartKey }: { readonly ExclusiveStartKey?: Key }) {
      starts.push(ExclusiveStartKey);
      return pages[Math.min(starts.length, pages.length) - 1];
    },
  };
}

const dynamo = mockClient(DynamoDBClient);
const table = { client: new DynamoDBClient({}), name: 't' };
const item = (name: string | number) => ({ pk: { S: 'feed' }, sk: { S: String(name) } });
const requests = (...names: (string | number)[]) =>
  names.map((name) => ({ DeleteRequest: { Key: item(name) } }));
const sent = () =>
  dynamo.commandCalls(BatchWriteItemCommand).map(({ args }) => args[0].input.RequestItems?.t ?? []);

beforeEach(() => dynamo.reset());
afterEach(() => vi.restoreAllMocks());

describe('a list', () => {
  // A disconnected account, or a feed that was registered a moment ago, must not be missed.
  it.each<[string, () => Promise<unknown>]>([
    ['partner accounts', () => createPartnerAccounts(createStore({ feedState: table })).list()],
    ['feeds', () => createFeedStates(table).list()],
  ])('of %s is read strongly consistent', async (_what, list) => {
    dynamo.on(QueryCommand).resolves({});

    await list();

    expect(dynamo.commandCalls(QueryCommand).map(({ args }) => args[0].input.ConsistentRead)).toEqual([true]);
  });

  it('is read page by page to its end, each page from where the last one ended', async () => {
    const { answer, starts } = pagesOf(
      { Items: [item(1)], LastEvaluatedKey: item(1) },
      // A page may be empty though more follow.
      { LastEvaluatedKey: item(2) },
      { Items: [item(3)] },
    );
    dynamo.on(QueryCommand).callsFake(answer);

    expect(await queryAll(table, 'feed')).toEqual([item(1), item(3)]);

    const calls = dynamo.commandCalls(QueryCommand).map(({ args }) => args[0].input);
    expect(starts).toEqual([undefined, item(1), item(2)]);
    expect(calls.map(({ ConsistentRead }) => ConsistentRead)).toEqual([true, true, true]);
  });
});

describe('deleting many items', () => {
  it('goes in batches of 25, the last one smaller', async () => {
    dynamo.on(BatchWriteItemCommand).resolves({});
    const names = Array.from({ length: 51 }, (_, index) => index);

    await deleteAll(table, names.map(item), { clock: aClock() });

    expect(sent()).toEqual([requests(...names.slice(0, 25)), requests(...names.slice(25, 50)), requests(50)]);
  });

  it('sends what was left unprocessed again, after a wait, and only that', async () => {
    dynamo
      .on(BatchWriteItemCommand)
      .resolvesOnce({ UnprocessedItems: { t: requests('b', 'c') } })
      .resolvesOnce({ UnprocessedItems: { t: requests('c') } })
      .resolves({});
    const clock = aClock();
    vi.spyOn(Math, 'random').mockReturnValue(0.5);

    await deleteAll(table, ['a', 'b', 'c'].map(item), { clock });

    expect(sent()).toEqual([requests('a', 'b', 'c'), requests('b', 'c'), requests('c')]);
    expect(clock.slept).toEqual([50, 100]);
  });

  it('fails, and says how much is left, when the table never takes it', async () => {
    dynamo.on(BatchWriteItemCommand).resolves({ UnprocessedItems: { t: requests('b') } });

    await expect(deleteAll(table, ['a', 'b'].map(item), { clock: aClock() })).rejects.toThrow(
      '1 items of t were not written',
    );
    expect(sent()).toHaveLength(8);
  });
});

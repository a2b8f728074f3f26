import {
  type AttributeValue,
  ConditionalCheckFailedException,
  DeleteItemCommand,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  paginateQuery,
} from '@aws-sdk/client-dynamodb';
import { parsedJson } from '../contract/checks.ts';
import { type Kind, storeKeys, type TableName, tableOfKind } from '../contract/names.ts';
import { systemClock } from '../domain/clock.ts';
import { backoffMs } from '../domain/concurrency.ts';
import { type Counters, type Etag, type Key, newEtag, type Row, type Store, sumOf } from '../ports/store.ts';

export interface Table {
  readonly client: DynamoDBClient;
  readonly name: string;
}

type Item = Record<string, AttributeValue>;

const { partitionKey: pk, sortKey: sk } = storeKeys;

/** Greater than every name with this beginning, because names are ASCII. */
const afterAll = '\uffff';

const isAbsent = 'attribute_not_exists(#pk)';
const isExpected = '#etag = :expected';

/** More than are added while the SDK repeats a call (clients.ts), and few enough for an item below 1 KB, a write unit. */
const idsKept = 50;

/** The others add within milliseconds; with the backoff, these attempts take about two seconds. */
const maxAdditions = 20;

/**
 * The rows in two DynamoDB tables, with the value as JSON text. A conditional write that fails returns the item that is
 * there, so a conflict costs no read.
 */
export function createStore(tables: Readonly<Partial<Record<TableName, Table>>>): Store {
  function tableOf(kind: Kind): Table {
    const table = tables[tableOfKind[kind]];
    if (!table) throw new Error(`rows of kind ${kind} are in a table that is not configured here`);
    return table;
  }

  async function find(key: Key): Promise<Item | undefined> {
    const { client, name } = tableOf(key.kind);
    const read = new GetItemCommand({ TableName: name, Key: keyOf(key), ConsistentRead: true });
    return (await client.send(read)).Item;
  }

  /** @returns nothing if it was written, or the item that is there instead of the expected one */
  async function write(
    key: Key,
    attributes: Readonly<Record<string, string>>,
    expected: Etag | 'absent',
  ): Promise<{ readonly item: Item | undefined } | undefined> {
    const { client, name } = tableOf(key.kind);
    const isNew = expected === 'absent';
    const texts = Object.entries(attributes).map(([attribute, S]) => [attribute, { S }]);
    const outcome = await orRefusal(
      client.send(
        new PutItemCommand({
          TableName: name,
          Item: { ...keyOf(key), ...Object.fromEntries(texts) },
          ConditionExpression: isNew ? isAbsent : isExpected,
          ExpressionAttributeNames: isNew ? { '#pk': pk } : { '#etag': 'etag' },
          ...(!isNew && { ExpressionAttributeValues: { ':expected': { S: expected } } }),
          ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
        }),
      ),
    );
    if (!(outcome instanceof ConditionalCheckFailedException)) return undefined;
    // Without an item in the error, there is none, or an emulator left it out.
    return { item: outcome.Item ?? (await find(key)) };
  }

  return {
    async get(key) {
      const item = await find(key);
      return item && rowOf(item);
    },

    async list(kind, { prefix = '', after = '', limit = Number.POSITIVE_INFINITY } = {}) {
      const { client, name } = tableOf(kind);
      // A key must not be empty; a space is the first character of names.
      const [low, high] = [(after > prefix ? after : prefix) || ' ', prefix + afterAll];
      if (low > high) return [];
      const pages = paginateQuery(
        { client },
        {
          TableName: name,
          ConsistentRead: true,
          KeyConditionExpression: '#pk = :kind AND #sk BETWEEN :low AND :high',
          ExpressionAttributeNames: { '#pk': pk, '#sk': sk },
          ExpressionAttributeValues: { ':kind': { S: kind }, ':low': { S: low }, ':high': { S: high } },
          // One more, because the range includes `after`.
          ...(Number.isFinite(limit) && { Limit: limit + 1 }),
        },
      );
      const rows: Row[] = [];
      for await (const { Items = [] } of pages) {
        for (const item of Items) {
          if (item[sk]?.S !== after) rows.push(rowOf(item));
          if (rows.length >= limit) return rows;
        }
      }
      return rows;
    },

    async put(key, value, expected) {
      const etag = newEtag();
      const refused = await write(key, { etag, value: JSON.stringify(value) }, expected);
      const row = refused?.item && rowOf(refused.item);
      return !refused || row?.etag === etag ? { etag } : { conflict: row };
    },

    async remove(key, expected) {
      const { client, name } = tableOf(key.kind);
      const condition = {
        ConditionExpression: `${isAbsent} OR ${isExpected}`,
        ExpressionAttributeNames: { '#pk': pk, '#etag': 'etag' },
        ExpressionAttributeValues: { ':expected': { S: expected ?? '' } },
      };
      const removal = { TableName: name, Key: keyOf(key), ...(expected && condition) };
      const outcome = await orRefusal(client.send(new DeleteItemCommand(removal)));
      return !(outcome instanceof ConditionalCheckFailedException);
    },

    // The etag shows a repeated call only if nobody has counted in between, so the item has the IDs of the latest calls.
    async add(key, counters) {
      const id = newEtag().slice(0, 8);
      for (let [item, attempt] = [await find(key), 1]; attempt <= maxAdditions; attempt += 1) {
        const ids = item?.ids?.S ?? '';
        if (ids.includes(id)) return;
        const row = item && rowOf(item);
        const value = JSON.stringify(sumOf(row?.value as Counters | undefined, counters));
        const kept = `${id} ${ids}`.slice(0, idsKept * (id.length + 1));
        const refused = await write(key, { etag: newEtag(), value, ids: kept }, row?.etag ?? 'absent');
        if (!refused) return;
        item = refused.item;
        await systemClock.sleep(backoffMs(attempt, { baseMs: 10, capMs: 200, random: Math.random }));
      }
      throw new Error(`${key.kind} ${key.name}: too many conflicting additions`);
    },
  };
}

async function orRefusal<T>(write: Promise<T>): Promise<T | ConditionalCheckFailedException> {
  try {
    return await write;
  } catch (error) {
    if (error instanceof ConditionalCheckFailedException) return error;
    throw error;
  }
}

const keyOf = ({ kind, name }: Key): Item => ({ [pk]: { S: kind }, [sk]: { S: name } });

/** @throws for an item of the releases 0.1 and 0.2, whose items had other attributes */
function rowOf(item: Item): Row {
  const name = item[sk]?.S ?? '';
  const etag = item.etag?.S;
  if (etag === undefined) {
    throw new Error(
      `Advert Bridge 0.1 or 0.2 wrote the item ${item[pk]?.S} ${name}, which this version cannot read. Deploy a new stack`,
    );
  }
  return { name, etag, value: parsedJson(item.value?.S ?? '') };
}

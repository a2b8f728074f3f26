import {
  type AttributeValue,
  ConditionalCheckFailedException,
  DeleteItemCommand,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  paginateQuery,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import { type Kind, storeKeys, type TableName, tableOfKind } from '../contract/names.ts';
import { systemClock } from '../domain/clock.ts';
import { type Key, newEtag, type Row, type Store } from '../ports/store.ts';

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

/** Prefixes of sums, and of the marks of the calls that have counted recently, with their time in seconds. */
const sum = 'sum.';
const mark = 'm.';
/** How long a mark is kept: longer than the SDK repeats a call (shared/aws/clients.ts: 4 times 5 s). */
const keepMarkSeconds = 30;
/** So many old marks are removed with the next addition: an item of a batch a second stays below 1 KB, a write unit. */
const marksAtOnce = 50;

/**
 * The rows in two DynamoDB tables. An item has the value as JSON text, or sums as numbers. A conditional write that
 * fails returns the item that is there, so a conflict costs no read.
 */
export function createStore(
  tables: Readonly<Partial<Record<TableName, Table>>>,
  clock: { now(): number } = systemClock,
): Store {
  function tableOf(kind: Kind): Table {
    const table = tables[tableOfKind[kind]];
    if (!table) throw new Error(`rows of kind ${kind} are in a table that is not configured here`);
    return table;
  }

  /** Of each row of sums, as its last addition found them. */
  const oldMarks = new Map<string, readonly string[]>();

  async function get(key: Key): Promise<Row | undefined> {
    const { client, name } = tableOf(key.kind);
    const { Item } = await client.send(
      new GetItemCommand({ TableName: name, Key: keyOf(key), ConsistentRead: true }),
    );
    return Item && rowOf(Item);
  }

  return {
    get,

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
      const { client, name } = tableOf(key.kind);
      const etag = newEtag();
      const isNew = expected === 'absent';
      const outcome = await orRefusal(
        client.send(
          new PutItemCommand({
            TableName: name,
            Item: { ...keyOf(key), etag: { S: etag }, value: { S: JSON.stringify(value) } },
            ConditionExpression: isNew ? isAbsent : isExpected,
            ExpressionAttributeNames: isNew ? { '#pk': pk } : { '#etag': 'etag' },
            ...(!isNew && { ExpressionAttributeValues: { ':expected': { S: expected } } }),
            ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
          }),
        ),
      );
      if (!(outcome instanceof ConditionalCheckFailedException)) return { etag };
      // Without an item in the error, there is none, or an emulator left it out.
      const conflict = outcome.Item ? rowOf(outcome.Item) : await get(key);
      return conflict?.etag === etag ? { etag } : { conflict };
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

    // The etag shows a repeated call only if nobody has counted in between, so each call leaves a mark of its own.
    async add(key, counters) {
      const { client, name } = tableOf(key.kind);
      const etag = newEtag();
      const now = Math.floor(clock.now() / 1_000);
      const entries = Object.entries(counters);
      const marks = oldMarks.get(key.name) ?? [];
      const remove = marks.length > 0 ? ` REMOVE ${marks.map((_, i) => `#m${i}`)}` : '';
      const outcome = await orRefusal(
        client.send(
          new UpdateItemCommand({
            TableName: name,
            Key: keyOf(key),
            UpdateExpression: `SET #etag = :etag, #mark = :now ADD ${entries.map((_, i) => `#c${i} :c${i}`)}${remove}`,
            ConditionExpression: 'attribute_not_exists(#mark)',
            ExpressionAttributeNames: {
              '#etag': 'etag',
              '#mark': mark + etag.slice(0, 8),
              ...Object.fromEntries(entries.map(([counter], i) => [`#c${i}`, sum + counter])),
              ...Object.fromEntries(marks.map((attribute, i) => [`#m${i}`, attribute])),
            },
            ExpressionAttributeValues: {
              ':etag': { S: etag },
              ':now': { N: String(now) },
              ...Object.fromEntries(entries.map(([, by], i) => [`:c${i}`, { N: String(by) }])),
            },
            ReturnValues: 'ALL_NEW',
          }),
        ),
      );
      if (outcome instanceof ConditionalCheckFailedException) return;
      const isOld = ([attribute, { N }]: [string, AttributeValue]) =>
        attribute.startsWith(mark) && Number(N) < now - keepMarkSeconds;
      const old = Object.entries(outcome.Attributes ?? {}).filter(isOld);
      oldMarks.set(
        key.name,
        old.slice(0, marksAtOnce).map(([attribute]) => attribute),
      );
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
  const text = item.value?.S;
  return { name, etag, value: text === undefined ? sumsIn(item) : parsed(text) };
}

const sumsIn = (item: Item): Record<string, number> =>
  Object.fromEntries(
    Object.entries(item).flatMap(([attribute, { N }]) =>
      attribute.startsWith(sum) ? [[attribute.slice(sum.length), Number(N)]] : [],
    ),
  );

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

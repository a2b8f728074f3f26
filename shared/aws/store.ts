import {
  type AttributeValue,
  ConditionalCheckFailedException,
  DeleteItemCommand,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  paginateQuery,
  type QueryCommandInput,
  type QueryCommandOutput,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import { parsedJson } from '../contract/checks.ts';
import { type Kind, storeKeys, type TableName, tableOfKind } from '../contract/names.ts';
import { systemClock } from '../domain/clock.ts';
import {
  type Counters,
  type Etag,
  type Key,
  type Listing,
  newEtag,
  type Row,
  type Store,
} from '../ports/store.ts';

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

/** Attributes of a row of sums: a number for each counter, and the mark of each adder's latest call. */
const counterPrefix = 'n:';
const adderPrefix = 'by:';

/** An adder makes one call after the other; overlapping calls of a process have an adder each. */
interface Adder {
  readonly attribute: string;
  /** The time of its latest call, ms since 1970; it rises with each call. */
  mark: number;
}

/** How long a mark is kept: the SDK repeats a call for less than a minute (clients.ts). */
const markKeptMs = 5 * 60_000;
const marksRemovedAtOnce = 20;

/**
 * The rows in two DynamoDB tables, with the value as JSON text. A conditional write that fails returns the item that is
 * there, so a conflict costs no read.
 */
export function createStore(tables: Readonly<Partial<Record<TableName, Table>>>): Store {
  const idleAdders: Adder[] = [];
  /** Attributes of adders that have long ended, by row: the next addition removes them. */
  const endedAdders = new Map<string, readonly string[]>();

  function tableOf(kind: Kind): Table {
    const table = tables[tableOfKind[kind]];
    if (!table) throw new Error(`rows of kind ${kind} are in a table that is not configured here`);
    return table;
  }

  async function find(key: Key): Promise<Item | undefined> {
    const { client, name } = tableOf(key.kind);
    const read = new GetItemCommand({ TableName: name, Key: itemKey(key), ConsistentRead: true });
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
          Item: { ...itemKey(key), ...Object.fromEntries(texts) },
          ConditionExpression: isNew ? isAbsent : isExpected,
          ExpressionAttributeNames: isNew ? { '#pk': pk } : { '#etag': 'etag' },
          ...(!isNew && { ExpressionAttributeValues: { ':expected': { S: expected } } }),
          ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
        }),
      ),
    );
    if (!(outcome instanceof ConditionalCheckFailedException)) return undefined;
    // If the error has no item, there is none, or an emulator left it out.
    return { item: outcome.Item ?? (await find(key)) };
  }

  function query(
    kind: Kind,
    { prefix = '', after = '', upTo = prefix + afterAll, limit = Number.POSITIVE_INFINITY }: Listing,
    options: Pick<QueryCommandInput, 'Select' | 'ConsistentRead'>,
  ): AsyncIterable<QueryCommandOutput> | [] {
    const { client, name } = tableOf(kind);
    // A key must not be empty; a space is the first character of names.
    const low = (after > prefix ? after : prefix) || ' ';
    if (low > upTo) return [];
    const input = {
      TableName: name,
      ConsistentRead: true,
      KeyConditionExpression: '#pk = :kind AND #sk BETWEEN :low AND :high',
      ExpressionAttributeNames: { '#pk': pk, '#sk': sk },
      ExpressionAttributeValues: { ':kind': { S: kind }, ':low': { S: low }, ':high': { S: upTo } },
      // One more, because the range includes `after`.
      ...(Number.isFinite(limit) && { Limit: limit + 1 }),
      ...options,
    };
    return paginateQuery({ client }, input);
  }

  return {
    async get(key) {
      const item = await find(key);
      return item && rowFromItem(item);
    },

    async list(kind, listing = {}) {
      const { after = '', limit = Number.POSITIVE_INFINITY } = listing;
      const rows: Row[] = [];
      for await (const { Items = [] } of query(kind, listing, {})) {
        for (const item of Items) {
          if (item[sk]?.S !== after) rows.push(rowFromItem(item));
          if (rows.length >= limit) return rows;
        }
      }
      return rows;
    },

    async count(kind, listing = {}) {
      const { limit = Number.POSITIVE_INFINITY } = listing;
      let number = 0;
      for await (const { Count = 0 } of query(kind, listing, { Select: 'COUNT', ConsistentRead: false })) {
        number += Count;
        if (number >= limit) return limit;
      }
      return number;
    },

    async put(key, value, expected) {
      const etag = newEtag();
      const refused = await write(key, { etag, value: JSON.stringify(value) }, expected);
      const row = refused?.item && rowFromItem(refused.item);
      return !refused || row?.etag === etag ? { etag } : { conflict: row };
    },

    async remove(key, expected) {
      const { client, name } = tableOf(key.kind);
      const condition = {
        ConditionExpression: `${isAbsent} OR ${isExpected}`,
        ExpressionAttributeNames: { '#pk': pk, '#etag': 'etag' },
        ExpressionAttributeValues: { ':expected': { S: expected ?? '' } },
      };
      const removal = { TableName: name, Key: itemKey(key), ...(expected && condition) };
      const outcome = await orRefusal(client.send(new DeleteItemCommand(removal)));
      return !(outcome instanceof ConditionalCheckFailedException);
    },

    // The adder's mark shows a call that was carried out already, however many others have added since.
    async add(key, counters) {
      const now = systemClock.now();
      const adder = idleAdders.pop() ?? { attribute: `${adderPrefix}${newEtag().slice(0, 8)}`, mark: 0 };
      adder.mark = Math.max(adder.mark + 1, Math.floor(now));
      const ended = endedAdders.get(key.name) ?? [];
      const { client, name } = tableOf(key.kind);
      const addition = additionOf(adder, counters, ended);
      const outcome = await orRefusal(
        client.send(new UpdateItemCommand({ TableName: name, Key: itemKey(key), ...addition })),
      );
      // After an error this adder is not used again: a call that is still on its way must not meet its next one.
      idleAdders.push(adder);
      if (outcome instanceof ConditionalCheckFailedException) return;
      const marks = Object.entries(outcome.Attributes ?? {}).filter(([name]) => name.startsWith(adderPrefix));
      const old = marks.filter(([, { N }]) => Number(N) < now - markKeptMs).map(([name]) => name);
      endedAdders.set(key.name, old.slice(0, marksRemovedAtOnce));
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

/** One update, which is refused where the item has the mark of this call, or of a later one of the adder. */
function additionOf({ attribute, mark }: Adder, counters: Counters, ended: readonly string[]) {
  const added = Object.entries(counters);
  const sums = added.map((_, index) => `#n${index} :n${index}`).join(', ');
  const removed = ended.map((_, index) => `#r${index}`).join(', ');
  return {
    UpdateExpression: `SET #etag = :etag, #by = :mark ADD ${sums}${removed && ` REMOVE ${removed}`}`,
    ConditionExpression: 'attribute_not_exists(#by) OR #by < :mark',
    ExpressionAttributeNames: {
      '#etag': 'etag',
      '#by': attribute,
      ...Object.fromEntries(added.map(([name], index) => [`#n${index}`, `${counterPrefix}${name}`])),
      ...Object.fromEntries(ended.map((name, index) => [`#r${index}`, name])),
    },
    ExpressionAttributeValues: {
      ':etag': { S: newEtag() },
      ':mark': { N: String(mark) },
      ...Object.fromEntries(added.map(([, by], index) => [`:n${index}`, { N: String(by) }])),
    },
    ReturnValues: 'ALL_NEW' as const,
  };
}

const itemKey = ({ kind, name }: Key): Item => ({ [pk]: { S: kind }, [sk]: { S: name } });

/** @throws for an item of the releases 0.1 and 0.2, whose items had other attributes */
function rowFromItem(item: Item): Row {
  const name = item[sk]?.S ?? '';
  const etag = item.etag?.S;
  if (etag === undefined) {
    throw new Error(
      `Advert Bridge 0.1 or 0.2 wrote the item ${item[pk]?.S} ${name}, which this version cannot read. Deploy a new stack`,
    );
  }
  return { name, etag, value: item.value ? parsedJson(item.value.S ?? '') : sumsIn(item) };
}

const sumsIn = (item: Item): Counters =>
  Object.fromEntries(
    Object.entries(item)
      .filter(([name]) => name.startsWith(counterPrefix))
      .map(([name, { N }]) => [name.slice(counterPrefix.length), Number(N)]),
  );

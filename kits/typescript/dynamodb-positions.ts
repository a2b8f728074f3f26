import * as v from 'valibot';
import { newerThan } from './newer-condition.ts';
import { checkOptions, client, requiredText } from './options.ts';
import { comparePositions, type Position } from './position.ts';
import type { PositionStore } from './position-store.ts';

type Item = Readonly<Record<string, { readonly S?: string; readonly N?: string }>>;

interface Update {
  UpdateExpression: string;
  ConditionExpression: string;
  ExpressionAttributeNames: Record<string, string>;
  ExpressionAttributeValues: Record<string, { S: string } | { N: string }>;
}

interface UpdateItemInput extends Update {
  TableName: string;
  Key: Record<string, { S: string }>;
  ReturnValues: 'ALL_NEW';
  ReturnValuesOnConditionCheckFailure: 'ALL_OLD';
}

/**
 * The part of a DynamoDB client that the store uses: `new DynamoDB()` of `@aws-sdk/client-dynamodb` has it. To keep a
 * bundle small, wrap a `DynamoDBClient`: `{ updateItem: (input) => client.send(new UpdateItemCommand(input)) }`.
 */
export interface DynamoDbLike {
  // A method, not a property: TypeScript compares the parameters of methods less strictly, which the SDK's types need.
  updateItem(input: UpdateItemInput): Promise<{ Attributes?: object | undefined }>;
}

export interface DynamoDbPositionsOptions {
  readonly dynamodb: DynamoDbLike;
  /**
   * A table with a partition key of type string and no sort key: for another, each call throws a `TypeError`.
   * `undefined`, such as from a missing variable, is rejected.
   */
  readonly tableName: string | undefined;
  /** Name of the partition key; default `pk`. */
  readonly partitionKey?: string;
  /** Prefix of each key, for a table that contains other items too. Default: none. */
  readonly keyPrefix?: string;
}

const isOurs = '#owner = :owner';
const claimNames = { '#owner': 'claimOwner', '#until': 'claimUntil' };
const numberAttribute = (value: number) => ({ N: String(value) });

/**
 * A position store in DynamoDB. It has one item for each advert: `generation` and `sequence` are the position of the
 * last applied event; `claimOwner` and `claimUntil` (ms since 1970) exist while a worker applies events of the advert.
 * Each event takes two writes. The function needs `dynamodb:UpdateItem` on the table.
 *
 * Do not set a time to live on the items: after an item is deleted, any replayed event of the advert counts as new.
 *
 * @throws {TypeError} for wrong options, such as an environment variable that is not set
 */
export function createDynamoDbPositions(options: DynamoDbPositionsOptions): PositionStore {
  checkOptions('createDynamoDbPositions', options, {
    dynamodb: client('updateItem', 'DynamoDB'),
    tableName: requiredText('the name of a table; is its environment variable set?'),
    partitionKey: v.optional(requiredText('a text')),
    keyPrefix: v.optional(v.string('expected a text')),
  });
  const { dynamodb, tableName = '', partitionKey = 'pk', keyPrefix = '' } = options;

  /** @returns the item after the write, or, if the condition was not met, as it is */
  async function write(key: string, update: Update): Promise<{ isWritten: boolean; item: Item }> {
    try {
      const { Attributes } = await dynamodb.updateItem({
        TableName: tableName,
        Key: { [partitionKey]: { S: `${keyPrefix}${key}` } },
        ...update,
        ReturnValues: 'ALL_NEW',
        ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
      });
      return { isWritten: true, item: (Attributes ?? {}) as Item };
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      if (error.name === 'ValidationException' && /key element does not match/.test(error.message)) {
        const expected = `the key of table ${tableName} is not ${partitionKey}, a string, without a sort key`;
        const remedy = 'Set partitionKey to the name of its key, or use another table';
        throw new TypeError(`createDynamoDbPositions: ${expected}. ${remedy}`, { cause: error });
      }
      if (error.name !== 'ConditionalCheckFailedException') throw error;
      return { isWritten: false, item: (error as { Item?: Item }).Item ?? {} };
    }
  }

  /** A write that also requires that `position` is newer than the item's. */
  function writeNewer(key: string, position: Position, update: Omit<Update, 'ExpressionAttributeNames'>) {
    const newer = newerThan(position, { generation: 'generation', sequence: 'sequence', marshalled: true });
    return write(key, {
      UpdateExpression: update.UpdateExpression.replace('<position>', newer.setPosition),
      ConditionExpression: `${newer.ConditionExpression} AND ${update.ConditionExpression}`,
      ExpressionAttributeNames: { ...newer.ExpressionAttributeNames, ...claimNames },
      ExpressionAttributeValues: { ...newer.ExpressionAttributeValues, ...update.ExpressionAttributeValues },
    });
  }

  return {
    async claim(key, { position, owner, until }, now) {
      const { isWritten, item } = await writeNewer(key, position, {
        UpdateExpression: 'SET #owner = :owner, #until = :until',
        ConditionExpression: `(attribute_not_exists(#owner) OR #until <= :now OR ${isOurs})`,
        ExpressionAttributeValues: {
          ':owner': { S: owner },
          ':until': numberAttribute(until),
          ':now': numberAttribute(now),
        },
      });
      const applied = positionIn(item);
      if (isWritten) return { kind: 'granted', applied };
      if (applied && comparePositions(position, applied) <= 0) return { kind: 'superseded', applied };
      return { kind: 'busy', until: Number(item.claimUntil?.N ?? now) };
    },
    async confirm(key, owner, position) {
      const { isWritten, item } = await writeNewer(key, position, {
        UpdateExpression: 'SET <position> REMOVE #owner, #until',
        ConditionExpression: isOurs,
        ExpressionAttributeValues: { ':owner': { S: owner } },
      });
      // The SDK may have sent our own write twice: then the first attempt has succeeded.
      const applied = positionIn(item);
      return isWritten || (applied !== undefined && comparePositions(applied, position) === 0);
    },
    async release(key, owner) {
      await write(key, {
        UpdateExpression: 'REMOVE #owner, #until',
        ConditionExpression: isOurs,
        ExpressionAttributeNames: claimNames,
        ExpressionAttributeValues: { ':owner': { S: owner } },
      });
    },
  };
}

function positionIn({ generation, sequence }: Item): Position | undefined {
  if (generation?.N === undefined || sequence?.N === undefined) return undefined;
  return { generation: Number(generation.N), sequence: Number(sequence.N) };
}

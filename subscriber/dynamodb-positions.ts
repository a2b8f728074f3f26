import * as v from 'valibot';
import { checkOptions, hasFunctions, text } from './options.ts';
import { comparePositions, type Position } from './position.ts';
import type { PositionStore } from './position-store.ts';

type AttributeValues = Record<string, { S: string } | { N: string }>;
type Item = Readonly<Record<string, { readonly S?: string; readonly N?: string }>>;

interface UpdateItemInput {
  TableName: string;
  Key: Record<string, { S: string }>;
  UpdateExpression: string;
  ConditionExpression: string;
  ExpressionAttributeNames: Record<string, string>;
  ExpressionAttributeValues: AttributeValues;
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
   * A table with a partition key of type string and no sort key. `undefined`, such as from a missing variable, is
   * rejected.
   */
  readonly tableName: string | undefined;
  /** Name of the partition key; default `pk`. */
  readonly partitionKey?: string;
  /** Prefix of each key, for a table that contains other items too. Default: none. */
  readonly keyPrefix?: string;
}

const names = {
  '#generation': 'generation',
  '#sequence': 'sequence',
  '#owner': 'claimOwner',
  '#until': 'claimUntil',
};
const isOurs = '#owner = :owner';
const isNewer =
  '(attribute_not_exists(#generation) OR #generation < :generation OR (#generation = :generation AND #sequence < :sequence))';
const isFree = '(attribute_not_exists(#owner) OR #until <= :now OR #owner = :owner)';

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
    dynamodb: v.custom(
      (value) => hasFunctions(value, 'updateItem'),
      'expected a client with updateItem, such as new DynamoDB()',
    ),
    tableName: text('the name of a table; is its environment variable set?'),
    partitionKey: v.optional(text('a text')),
    keyPrefix: v.optional(v.string('expected a text')),
  });
  const { dynamodb, tableName = '', partitionKey = 'pk', keyPrefix = '' } = options;
  const keyOf = (key: string) => ({ [partitionKey]: { S: `${keyPrefix}${key}` } });

  /** @returns the item after the write, or, if the condition was not met, as it is */
  async function update(
    key: string,
    UpdateExpression: string,
    ConditionExpression: string,
    values: AttributeValues,
  ): Promise<{ readonly isWritten: boolean; readonly item: Item }> {
    const used = `${UpdateExpression} ${ConditionExpression}`;
    try {
      const { Attributes } = await dynamodb.updateItem({
        TableName: tableName,
        Key: keyOf(key),
        UpdateExpression,
        ConditionExpression,
        ExpressionAttributeNames: Object.fromEntries(
          Object.entries(names).filter(([name]) => used.includes(name)),
        ),
        ExpressionAttributeValues: values,
        ReturnValues: 'ALL_NEW',
        ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
      });
      return { isWritten: true, item: (Attributes ?? {}) as Item };
    } catch (error) {
      if (!(error instanceof Error) || error.name !== 'ConditionalCheckFailedException') throw error;
      return { isWritten: false, item: (error as { Item?: Item }).Item ?? {} };
    }
  }

  return {
    async claim(key, { position, owner, until }, now) {
      const { isWritten, item } = await update(
        key,
        'SET #owner = :owner, #until = :until',
        `${isNewer} AND ${isFree}`,
        {
          ...positionValues(position),
          ...ownerValue(owner),
          ':until': number(until),
          ':now': number(now),
        },
      );
      const applied = positionIn(item);
      if (isWritten) return { kind: 'granted', applied };
      if (applied && comparePositions(position, applied) <= 0) return { kind: 'superseded', applied };
      return { kind: 'busy', until: Number(item.claimUntil?.N ?? now) };
    },
    async confirm(key, owner, position) {
      const { isWritten, item } = await update(
        key,
        'SET #generation = :generation, #sequence = :sequence REMOVE #owner, #until',
        `${isOurs} AND ${isNewer}`,
        { ...positionValues(position), ...ownerValue(owner) },
      );
      // The SDK may have sent our own write twice: then the first attempt has succeeded.
      const applied = positionIn(item);
      return (
        isWritten || (applied?.generation === position.generation && applied.sequence === position.sequence)
      );
    },
    async release(key, owner) {
      await update(key, 'REMOVE #owner, #until', isOurs, ownerValue(owner));
    },
  };
}

const number = (value: number) => ({ N: String(value) });
const ownerValue = (owner: string) => ({ ':owner': { S: owner } });
const positionValues = ({ generation, sequence }: Position) => ({
  ':generation': number(generation),
  ':sequence': number(sequence),
});

function positionIn(item: Item): Position | undefined {
  const { generation, sequence } = item;
  if (generation?.N === undefined || sequence?.N === undefined) return undefined;
  return { generation: Number(generation.N), sequence: Number(sequence.N) };
}

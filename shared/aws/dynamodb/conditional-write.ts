import { randomBytes } from 'node:crypto';
import {
  ConditionalCheckFailedException,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import { type Item, toAttribute, toItem } from './values.ts';

export interface Table {
  readonly client: DynamoDBClient;
  readonly name: string;
}

/** `item`: the item after the write (for an update); `found`: the conflicting item, if there is one. */
export type Written =
  | { readonly written: true; readonly item?: Item }
  | { readonly written: false; readonly found?: Item };

export interface Condition {
  /** The expression uses `#name` for attributes and `:name` for `values`. */
  readonly condition: string;
  readonly values?: Readonly<Record<string, unknown>>;
}

export interface Change extends Partial<Condition> {
  /** Attributes to set; those that are `undefined` are removed. */
  readonly set?: Readonly<Record<string, unknown>>;
  readonly add?: Readonly<Record<string, number>>;
}

/** Condition that the item still has the version that was read; 0: that it does not exist yet. */
export const hasVersion = (version: number, attribute = 'version'): Condition =>
  version === 0
    ? { condition: `attribute_not_exists(#${attribute})` }
    : { condition: `#${attribute} = :expected`, values: { expected: version } };

/** Attribute that identifies the last write: each write has a random mark. */
const mark = 'writeMark';
const newMark = () => randomBytes(6).toString('base64url');

/**
 * One conditional `UpdateItem`. If the SDK repeats a call whose answer was lost, the second attempt finds the mark of
 * the first and counts as written. So no counter is increased twice, and our own write does not appear as a conflict.
 *
 * @see https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_UpdateItem.html
 */
export async function updateItem(table: Table, key: Item, change: Change): Promise<Written> {
  const ours = newMark();
  const values: Record<string, unknown> = { ...change.values, mark: ours };
  const sets = [`#${mark} = :mark`];
  const removes: string[] = [];
  for (const [name, value] of Object.entries(change.set ?? {})) {
    if (value === undefined) removes.push(`#${name}`);
    else {
      sets.push(`#${name} = :set_${name}`);
      values[`set_${name}`] = value;
    }
  }
  const adds = Object.entries(change.add ?? {}).map(([name, by]) => {
    values[`add_${name}`] = by;
    return `#${name} :add_${name}`;
  });
  const update = [
    `SET ${sets.join(', ')}`,
    adds.length > 0 ? `ADD ${adds.join(', ')}` : '',
    removes.length > 0 ? `REMOVE ${removes.join(', ')}` : '',
  ].join(' ');
  const condition = `(NOT #${mark} = :mark)${change.condition ? ` AND (${change.condition})` : ''}`;
  return attempt(table, key, ours, async () => {
    const { Attributes } = await table.client.send(
      new UpdateItemCommand({
        TableName: table.name,
        Key: key,
        UpdateExpression: update,
        ConditionExpression: condition,
        ExpressionAttributeNames: namesIn(`${update} ${condition}`),
        ExpressionAttributeValues: valuesOf(values),
        ReturnValues: 'ALL_NEW',
        ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
      }),
    );
    return Attributes;
  });
}

/**
 * One conditional `PutItem` of a complete item; repeated calls are handled as in {@link updateItem}.
 *
 * @see https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_PutItem.html
 */
export async function putItem(
  table: Table,
  key: Item,
  fields: Readonly<Record<string, unknown>>,
  { condition, values }: Condition,
): Promise<Written> {
  const ours = newMark();
  return attempt(table, key, ours, async () => {
    await table.client.send(
      new PutItemCommand({
        TableName: table.name,
        Item: { ...toItem({ ...fields, [mark]: ours }), ...key },
        ConditionExpression: condition,
        ExpressionAttributeNames: namesIn(condition),
        ...(values ? { ExpressionAttributeValues: valuesOf(values) } : {}),
        ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
      }),
    );
    return undefined;
  });
}

async function attempt(
  table: Table,
  key: Item,
  ours: string,
  write: () => Promise<Item | undefined>,
): Promise<Written> {
  try {
    return { written: true, item: await write() };
  } catch (error) {
    if (!(error instanceof ConditionalCheckFailedException)) throw error;
    // The error contains no item: it does not exist, or an emulator omitted it.
    const found = error.Item ?? (await readItem(table, key));
    return found?.[mark]?.S === ours ? { written: true, item: found } : { written: false, found };
  }
}

/** Strongly consistent. */
export async function readItem(table: Table, key: Item): Promise<Item | undefined> {
  const { Item: item } = await table.client.send(
    new GetItemCommand({ TableName: table.name, Key: key, ConsistentRead: true }),
  );
  return item;
}

const namesIn = (expressions: string): Record<string, string> =>
  Object.fromEntries([...expressions.matchAll(/#(\w+)/g)].map(([alias, name]) => [alias, name ?? '']));

const valuesOf = (values: Readonly<Record<string, unknown>>): Item =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [`:${name}`, toAttribute(value)]));

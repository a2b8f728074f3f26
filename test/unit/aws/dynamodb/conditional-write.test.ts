import {
  ConditionalCheckFailedException,
  DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  ThrottlingException,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import { beforeEach, describe, expect, it } from 'vitest';
import { hasVersion, putItem, updateItem } from '../../../../shared/aws/dynamodb/conditional-write.ts';
import type { Item } from '../../../../shared/aws/dynamodb/values.ts';
import { mockClient } from '../../../helpers/aws/mock-client.ts';

const dynamo = mockClient(DynamoDBClient);
const table = { client: new DynamoDBClient({}), name: 't' };
const key = { pk: { S: 'a' } };
const refusal = (Item?: Item) => new ConditionalCheckFailedException({ message: 'no', $metadata: {}, Item });

beforeEach(() => dynamo.reset());

describe('a conditional write', () => {
  it('counts as written when the SDK repeated it and met its own first attempt', async () => {
    dynamo.on(UpdateItemCommand).callsFake((input) => {
      throw refusal({ ...key, writeMark: input.ExpressionAttributeValues[':mark'] });
    });

    const result = await updateItem(table, key, { add: { listed: 5 } });

    expect(result.written).toBe(true);
    expect(dynamo.commandCalls(GetItemCommand)).toHaveLength(0);
  });

  it('says what stood in its way', async () => {
    const standing = { ...key, holder: { S: 'somebody' }, writeMark: { S: 'theirs' } };
    dynamo.on(PutItemCommand).rejects(refusal(standing));

    expect(await putItem(table, key, {}, hasVersion(0))).toEqual({
      written: false,
      found: standing,
    });
  });

  it('looks for what stood in its way where the refusal does not bring it', async () => {
    dynamo.on(UpdateItemCommand).rejects(refusal());
    dynamo.on(GetItemCommand).resolves({ Item: key });

    expect(await updateItem(table, key, {})).toEqual({ written: false, found: key });
    expect(dynamo.commandCalls(GetItemCommand)[0]?.args[0].input.ConsistentRead).toBe(true);
  });

  it('lets throttling through when the SDK has given up', async () => {
    dynamo.on(UpdateItemCommand).rejects(new ThrottlingException({ message: 'slow', $metadata: {} }));

    await expect(updateItem(table, key, {})).rejects.toThrow(ThrottlingException);
  });

  it('removes what is undefined and sets the rest, reserved words included', async () => {
    dynamo.on(UpdateItemCommand).resolves({ Attributes: key });

    await updateItem(table, key, { set: { status: 'active', fault: undefined }, add: { count: 1 } });

    const input = dynamo.commandCalls(UpdateItemCommand)[0]?.args[0].input;
    expect(input?.UpdateExpression).toBe(
      'SET #writeMark = :mark, #status = :set_status ADD #count :add_count REMOVE #fault',
    );
    expect(input?.ExpressionAttributeNames).toMatchObject({ '#status': 'status', '#fault': 'fault' });
  });

  it('has its condition beside that of the mark, whatever its operators', async () => {
    dynamo.on(UpdateItemCommand).resolves({ Attributes: key });

    const result = await updateItem(table, key, { condition: '#a = :a OR #b = :a', values: { a: 1 } });

    const input = dynamo.commandCalls(UpdateItemCommand)[0]?.args[0].input;
    expect(result).toEqual({ written: true, item: key });
    expect(input).toMatchObject({
      ConditionExpression: '(NOT #writeMark = :mark) AND (#a = :a OR #b = :a)',
      UpdateExpression: expect.stringMatching(/^SET #writeMark = :mark *$/),
      ExpressionAttributeNames: { '#a': 'a', '#b': 'b', '#writeMark': 'writeMark' },
      ExpressionAttributeValues: { ':a': { N: '1' }, ':mark': { S: expect.any(String) } },
      ReturnValues: 'ALL_NEW',
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
  });

  it('of a whole item counts as written when it meets its own first attempt, under another mark each time', async () => {
    const marks = new Set<unknown>();
    dynamo.on(PutItemCommand).callsFake(({ Item, ReturnValuesOnConditionCheckFailure }) => {
      marks.add(Item.writeMark.S);
      throw refusal(ReturnValuesOnConditionCheckFailure === 'ALL_OLD' ? Item : undefined);
    });
    for (const _again of [1, 2]) {
      expect(await putItem(table, key, { a: 1 }, hasVersion(1))).toMatchObject({ written: true });
    }
    expect(marks.size).toBe(2);
  });

  it('says that nothing stands there where nothing does', async () => {
    dynamo.on(UpdateItemCommand).rejects(refusal());
    dynamo.on(GetItemCommand).resolves({});
    expect(await updateItem(table, key, {})).toEqual({ written: false, found: undefined });
  });
});

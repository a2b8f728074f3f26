import {
  ConditionalCheckFailedException,
  DynamoDBClient,
  GetItemCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import { beforeEach, describe, expect, it } from 'vitest';
import { createBudgetStore } from '../../../shared/aws/budget-store.ts';
import { aClock } from '../../helpers/aws/fixtures.ts';
import { mockClient } from '../../helpers/aws/mock-client.ts';

const dynamo = mockClient(DynamoDBClient);
const make = () =>
  createBudgetStore({ client: new DynamoDBClient({}), name: 't' }, { clock: aClock(), random: () => 0.5 });
const request = { count: 10, intervalMs: 100, nowMs: 1_000, trialMs: 30_000 };
const standing = (nextSlotMs: number, version: number) => ({
  nextSlotMs: { N: String(nextSlotMs) },
  pausedUntilMs: { N: '0' },
  version: { N: String(version) },
  writeMark: { S: 'theirs' },
});

beforeEach(() => {
  dynamo.reset();
  dynamo.on(GetItemCommand).resolves({});
  dynamo.on(UpdateItemCommand).resolves({});
});

describe('the rate budget on DynamoDB', () => {
  it('costs one write for a batch of slots, and a read only the first time', async () => {
    const store = make();
    await store.reserve(request);
    await store.reserve(request);
    await store.reserve(request);
    expect(dynamo.commandCalls(UpdateItemCommand)).toHaveLength(3);
    expect(dynamo.commandCalls(GetItemCommand)).toHaveLength(1);
  });

  it('goes on from the state that a refusal brings along, without a read', async () => {
    const store = make();
    await store.reserve(request);
    let refusals = 0;
    dynamo.on(UpdateItemCommand).callsFake(async () => {
      refusals += 1;
      if (refusals > 1) return {};
      throw new ConditionalCheckFailedException({ message: 'no', $metadata: {}, Item: standing(5_000, 9) });
    });

    expect(await store.reserve(request)).toMatchObject({ granted: 10, firstSlotMs: 5_000 });

    expect(dynamo.commandCalls(GetItemCommand)).toHaveLength(1);
    const input = dynamo.commandCalls(UpdateItemCommand).at(-1)?.args[0].input;
    expect(input?.ExpressionAttributeValues).toMatchObject({
      ':expected': { N: '9' },
      ':set_version': { N: '10' },
    });
  });

  it('writes nothing when there is nothing to change, having looked', async () => {
    const store = make();
    await store.recover();
    expect(dynamo.commandCalls(UpdateItemCommand)).toHaveLength(0);
    expect(dynamo.commandCalls(GetItemCommand).length).toBeGreaterThan(0);
  });

  it('gives up after thirty conflicts in a row', async () => {
    dynamo
      .on(UpdateItemCommand)
      .rejects(
        new ConditionalCheckFailedException({ message: 'no', $metadata: {}, Item: standing(5_000, 9) }),
      );
    await expect(make().reserve(request)).rejects.toThrow('30 conflicts in a row');
  });

  it('waits longer after each of thirty conflicts', async () => {
    const clock = aClock();
    dynamo.on(UpdateItemCommand).callsFake(async () => {
      throw new ConditionalCheckFailedException({ message: 'no', $metadata: {}, Item: standing(5_000, 9) });
    });
    const store = createBudgetStore(
      { client: new DynamoDBClient({}), name: 't' },
      { clock, random: () => 1 },
    );
    await expect(store.reserve(request)).rejects.toThrow('30 conflicts in a row');
    expect(clock.slept).toHaveLength(30);
    expect(clock.slept.slice(0, 8)).toEqual([5, 10, 20, 40, 80, 160, 200, 200]);
  });

  it('goes on after a change that could not be written', async () => {
    const store = make();
    dynamo.on(UpdateItemCommand).rejectsOnce(new Error('no route')).resolves({});
    const asked = await Promise.allSettled([store.reserve(request), store.reserve(request)]);
    expect(asked).toMatchObject([{ status: 'rejected' }, { value: { granted: 10, firstSlotMs: 1_000 } }]);
  });

  it('ends a pause that somebody else has made since it last looked', async () => {
    const store = make();
    await store.reserve(request);
    dynamo.on(GetItemCommand).resolves({
      Item: {
        ...standing(5_000, 9),
        pausedUntilMs: { N: '60000' },
        pauseReason: { S: 'circuit' },
        suspect: { S: 'a' },
      },
    });
    await store.recover();
    const input = dynamo.commandCalls(UpdateItemCommand).at(-1)?.args[0].input;
    expect(input?.ExpressionAttributeValues).toMatchObject({
      ':expected': { N: '9' },
      ':set_pausedUntilMs': { N: '0' },
    });
    expect(input?.UpdateExpression).toContain('REMOVE #pauseReason, #suspect');
  });

  it('reads a budget that has no figures yet as an unused one', async () => {
    dynamo.on(GetItemCommand).resolves({ Item: { writeMark: { S: 'theirs' } } });
    expect(await make().read()).toEqual({ nextSlotMs: 0, pausedUntilMs: 0 });
  });
});

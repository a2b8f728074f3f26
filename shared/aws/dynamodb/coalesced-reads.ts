import { BatchGetItemCommand } from '@aws-sdk/client-dynamodb';
import { batchesOf, type Edges, retryRest } from '../batches/batches.ts';
import type { Table } from './conditional-write.ts';
import type { Item } from './values.ts';

/** DynamoDB returns at most 100 items per call. */
const keysAtOnce = 100;
const retries = { maxAttempts: 6, baseMs: 50, capMs: 1_000 };

type Waiting = PromiseWithResolvers<Item | undefined>;

/**
 * Strongly consistent reads by partition key. Reads requested in the same turn of the event loop share one
 * `BatchGetItem`.
 *
 * @see https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchGetItem.html
 */
export function createCoalescedReads({ client, name }: Table, keyName: string, edges: Edges = {}) {
  let waiting = new Map<string, Waiting>();

  function flush(): void {
    for (const batch of batchesOf([...waiting], keysAtOnce)) void readBatch(new Map(batch));
    waiting = new Map();
  }

  async function readBatch(asked: ReadonlyMap<string, Waiting>): Promise<void> {
    try {
      const unread = await retryRest(
        [...asked.keys()],
        async (keys) => {
          const Keys = keys.map((key) => ({ [keyName]: { S: key } }));
          const { Responses, UnprocessedKeys } = await client.send(
            new BatchGetItemCommand({ RequestItems: { [name]: { Keys, ConsistentRead: true } } }),
          );
          for (const item of Responses?.[name] ?? []) asked.get(item[keyName]?.S ?? '')?.resolve(item);
          const rest = (UnprocessedKeys?.[name]?.Keys ?? []).map((key) => key[keyName]?.S ?? '');
          // A promise resolves only once, so this applies only to keys without an item.
          for (const key of keys) if (!rest.includes(key)) asked.get(key)?.resolve(undefined);
          return rest;
        },
        { ...retries, ...edges },
      );
      if (unread.length > 0) throw new Error(`${unread.length} reads of ${name} were left unprocessed`);
    } catch (error) {
      for (const { reject } of asked.values()) reject(error);
    }
  }

  return {
    read(key: string): Promise<Item | undefined> {
      if (waiting.size === 0) setImmediate(flush);
      const mine = waiting.get(key) ?? Promise.withResolvers<Item | undefined>();
      waiting.set(key, mine);
      return mine.promise;
    },
  };
}

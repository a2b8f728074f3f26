import { type AttributeValue, BatchGetItemCommand, type DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { backoffMs } from '../../domain/backoff.ts';
import { type Clock, systemClock } from '../../domain/clock.ts';
import type { Item } from './values.ts';

interface Waiting {
  readonly resolve: (item: Item | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** DynamoDB gives at most 100 items for one call. */
const keysAtOnce = 100;
const maxAttempts = 6;

/**
 * Strongly consistent reads by partition key. Those asked for before the event loop comes round go together in one
 * `BatchGetItem`; what it leaves unprocessed (throttling) is asked for again with backoff.
 *
 * @see https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_BatchGetItem.html
 */
export function coalescedReads(
  { client, name: table }: { readonly client: DynamoDBClient; readonly name: string },
  keyName: string,
  { clock = systemClock, random = Math.random }: { clock?: Clock; random?: () => number } = {},
) {
  let waiting = new Map<string, Waiting[]>();

  function flush(): void {
    const all = [...waiting];
    waiting = new Map();
    for (let start = 0; start < all.length; start += keysAtOnce) {
      void fetchAll(new Map(all.slice(start, start + keysAtOnce)));
    }
  }

  async function fetchAll(asked: Map<string, Waiting[]>): Promise<void> {
    try {
      let keys = [...asked.keys()].map((key): Record<string, AttributeValue> => ({ [keyName]: { S: key } }));
      for (let attempt = 1; ; attempt += 1) {
        const { Responses, UnprocessedKeys } = await client.send(
          new BatchGetItemCommand({ RequestItems: { [table]: { Keys: keys, ConsistentRead: true } } }),
        );
        for (const item of Responses?.[table] ?? []) settle(item[keyName]?.S ?? '', item);
        keys = UnprocessedKeys?.[table]?.Keys ?? [];
        const left = new Set(keys.map((key) => key[keyName]?.S));
        for (const key of [...asked.keys()]) if (!left.has(key)) settle(key, undefined);
        if (keys.length === 0) return;
        if (attempt >= maxAttempts) throw new Error(`${keys.length} reads of ${table} were left unprocessed`);
        await clock.sleep(backoffMs(attempt, { baseMs: 50, capMs: 1000, random }));
      }
    } catch (error) {
      for (const { reject } of [...asked.values()].flat()) reject(error);
    }

    function settle(key: string, item: Item | undefined): void {
      for (const { resolve } of asked.get(key) ?? []) resolve(item);
      asked.delete(key);
    }
  }

  return (key: string): Promise<Item | undefined> =>
    new Promise((resolve, reject) => {
      if (waiting.size === 0) setImmediate(flush);
      const already = waiting.get(key);
      if (already) already.push({ resolve, reject });
      else waiting.set(key, [{ resolve, reject }]);
    });
}

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
export class CoalescedReads {
  readonly #table: Table;
  readonly #keyName: string;
  readonly #edges: Edges;
  #waiting = new Map<string, Waiting>();

  constructor(table: Table, keyName: string, edges: Edges = {}) {
    this.#table = table;
    this.#keyName = keyName;
    this.#edges = edges;
  }

  read(key: string): Promise<Item | undefined> {
    if (this.#waiting.size === 0) setImmediate(() => this.#flush());
    const waiting = this.#waiting.get(key) ?? Promise.withResolvers<Item | undefined>();
    this.#waiting.set(key, waiting);
    return waiting.promise;
  }

  #flush(): void {
    for (const batch of batchesOf([...this.#waiting], keysAtOnce)) void this.#fetch(new Map(batch));
    this.#waiting = new Map();
  }

  async #fetch(asked: ReadonlyMap<string, Waiting>): Promise<void> {
    const { client, name } = this.#table;
    const keyName = this.#keyName;
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
        { ...retries, ...this.#edges },
      );
      if (unread.length > 0) throw new Error(`${unread.length} reads of ${name} were left unprocessed`);
    } catch (error) {
      for (const { reject } of asked.values()) reject(error);
    }
  }
}

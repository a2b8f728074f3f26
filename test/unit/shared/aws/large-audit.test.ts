import { afterAll, beforeAll, expect, it } from 'vitest';
import { audit } from '../../../../operators/operations/audit.ts';
import type { Bridge } from '../../../../operators/operations/bridge.ts';
import { createStore } from '../../../../shared/aws/store.ts';
import type { ChangedAdvert } from '../../../../shared/contract/messages.ts';
import { rowPorts } from '../../../../shared/state/row-ports.ts';
import { startDynamo } from '../../../helpers/aws/emulators.ts';
import { createManualClock } from '../../../helpers/manual-clock.ts';

const key = { partnerAccount: 'main', generation: 1_763_640_000 };
/** More than an item of DynamoDB has room for, with the longest of IDs. */
const count = 25_000;
const pageSize = 100;
const idOf = (index: number) => String(10n ** 19n + BigInt(index));

let dynamo: Awaited<ReturnType<typeof startDynamo>>;
beforeAll(async () => {
  dynamo = await startDynamo();
});
afterAll(() => dynamo.stop());

/** Adverts that the service lists, and that were never published: each gets its first event as soon as it is sent. */
async function setUp() {
  const table = await dynamo.feedStateTable();
  let bytes = 0;
  table.client.middlewareStack.add(
    (next, { commandName }) =>
      (args) => {
        if (commandName === 'PutItemCommand') bytes += JSON.stringify(args.input).length;
        return next(args);
      },
    { step: 'initialize', name: 'countBytes' },
  );
  const store = createStore({ feedState: table });
  const messages = new Map<string, ChangedAdvert>();
  const envelopeOf = ({ correlationId }: ChangedAdvert) =>
    JSON.stringify({ detail: { metadata: { cause: 'audit', correlationId, sequence: 1 }, data: {} } });
  let ids = 0;
  const bridge = {
    ...rowPorts(store),
    clock: createManualClock(),
    ...{ depthLagMs: 0, newId: () => `id-${++ids}`, host: { kind: 'stack' } },
    settings: async () => ({ maxRequestsPerSecond: 1_000 }),
    queue: {
      depth: async () => 0,
      async send(all: readonly ChangedAdvert[]) {
        messages.clear();
        for (const message of all) messages.set(message.advertId, message);
        return new Set();
      },
    },
    advertHistories: {
      async read({ advertId }: { advertId: string }) {
        const message = messages.get(advertId);
        return message && { by: message.key, envelope: envelopeOf(message), pending: false };
      },
    },
  } as unknown as Bridge;
  const source = {
    name: 'list',
    async *pages(from: number) {
      for (let next = from; next < count; next += pageSize)
        yield {
          data: Array.from({ length: pageSize }, (_, index) => idOf(next + index)),
          next: next + pageSize,
        };
    },
  };
  const run = (stopAfter = Number.POSITIVE_INFINITY) => {
    const stop = new AbortController();
    const onProgress = ({ listed }: { listed: number }) => listed >= stopAfter && stop.abort();
    return audit(bridge, { key, source, signal: stop.signal, onProgress });
  };
  return { run, store, bytes: () => bytes };
}

it('a stopped audit finds 25,000 adverts without an event, writing little', async () => {
  const { run, store, bytes } = await setUp();

  const stopped = await run(10_000);
  const { end, progress } = await run();

  expect(stopped).toMatchObject({ end: 'stopped', progress: { listed: 10_000 } });
  expect(end).toBe('done');
  expect(progress.neverPublished).toEqual(Array.from({ length: count }, (_, index) => idOf(index)));
  expect(bytes()).toBeLessThan(5_000_000);

  // The next audit removes what this one has left.
  expect((await run(300)).progress.neverPublished).toHaveLength(300);
  expect(await store.list('found')).toHaveLength(1);
}, 60_000);

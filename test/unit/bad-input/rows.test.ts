import { DatabaseSync } from 'node:sqlite';
import { DynamoDBClient, GetItemCommand, QueryCommand } from '@aws-sdk/client-dynamodb';
import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { createFanOut } from '../../../functions/fan-out/fan-out.ts';
import { createStore } from '../../../shared/aws/store.ts';
import { ShapeError } from '../../../shared/contract/checks.ts';
import { asBridgeFault } from '../../../shared/domain/faults.ts';
import { Secret } from '../../../shared/domain/secret.ts';
import { stateFileIn } from '../../../shared/sqlite/file/private-folder.ts';
import { openEmbeddedState } from '../../../shared/sqlite/state.ts';
import type { AdvertHistories, AdvertRow } from '../../../shared/state/advert-histories.ts';
import { createAdvertHistories } from '../../../shared/state/advert-histories.ts';
import { createFeedStates } from '../../../shared/state/feed-states.ts';
import { createPartnerAccounts } from '../../../shared/state/partner-accounts.ts';
import { createInMemoryStore } from '../../fakes/store.ts';
import { mockClient } from '../../helpers/aws/mock-client.ts';
import { feedState, partnerAccount, tokenPair } from '../../helpers/records.ts';
import { scratchFolders } from '../../helpers/scratch-folder.ts';
import { createWorld } from '../../helpers/world.ts';
import { errorOf, expectNoTrace, marker, nearlyRight, nearlyRightJson, oddValue } from './nearly-right.ts';

const table = { client: new DynamoDBClient({}), name: 't' };
const dynamo = mockClient(table.client);
beforeEach(() => dynamo.reset());

const rightRow: AdvertRow = {
  sequence: 7,
  status: 'active',
  envelope: '{"of":"sequence 7"}',
  by: 'read-0:1',
  pending: false,
  etag: 'before',
};

/** A world with one advert changed whose history reads as `read` has it, and three more that are well. */
async function fannedOut(read: AdvertHistories['read']) {
  const world = await createWorld();
  for (const id of ['1', '2', '3', '4']) world.service.change(id, 'sold');
  await world.round();
  const sound = world.state.advertHistories;
  const histories: AdvertHistories = {
    ...sound,
    read: (key) => (key.advertId === '1' ? read(key) : sound.read(key)),
    write: async (key, row) => (key.advertId === '1' ? row : sound.write(key, row)),
  };
  const fanOut = createFanOut({ ...world.fanOutDeps, histories });
  const batch = await world.state.queue.receive({ maxGroups: 10, maxPerGroup: 10, visibilityMs: 60_000 });
  const settlements = await fanOut.handle(batch, world.options());
  const verdictOf = (id: string) =>
    settlements.find(({ delivery }) => delivery.message?.advertId === id)?.verdict;
  return { world, settlements, verdictOf };
}

describe('the history of an advert, with junk in it', () => {
  const junk = fc.oneof(
    nearlyRight({ row: rightRow }).map((value) => (value as { row?: unknown } | null)?.row),
    oddValue,
  );
  const asRow = (value: unknown) => value as AdvertRow | undefined;

  it('leaves the other adverts of the batch alone, and each message with a verdict', async () => {
    await fc.assert(
      fc.asyncProperty(junk, async (row) => {
        const { settlements, verdictOf } = await fannedOut(async () => asRow(row));

        expect(settlements).toHaveLength(4);
        for (const id of ['2', '3', '4']) expect(verdictOf(id)).toEqual({ kind: 'done', outcome: 'events' });
      }),
      { numRuns: 150 },
    );
  });

  const key = { kind: 'history', name: 'main/1/1' } as const;
  const owner = { partnerAccount: 'main', generation: 1, feed: 'adverts', advertId: '1' } as const;
  async function readFrom(value: unknown) {
    const store = createInMemoryStore();
    await store.put(key, value, 'absent');
    const histories = createAdvertHistories(store);
    return () => histories.read(owner);
  }

  it('is a row or an error, read of any stored value', async () => {
    const { etag: _etag, ...stored } = rightRow;
    await fc.assert(
      fc.asyncProperty(fc.oneof(nearlyRight(stored), oddValue), async (value) => {
        const error = await errorOf(await readFrom(value ?? null));

        expectNoTrace(error);
        if (error !== undefined) expect(asBridgeFault(error).policy.deadLettered).toBe('by-age');
      }),
      { numRuns: 150 },
    );
  });

  it('is never the ground for an event that is not of the contract, and calls for a person', async () => {
    for (const wrong of [{ sequence: '7' }, { status: 7 }, { envelope: {} }]) {
      const { world, verdictOf } = await fannedOut(await readFrom({ ...rightRow, ...wrong }));

      expect(verdictOf('1')?.kind).toBe('retry');
      expect(world.advertEvents().map(({ detail }) => detail.metadata.sequence)).toEqual([1, 1, 1]);
      expect(world.observer.counted('NeedsAttention')).toBe(1);
    }
  });
});

describe('items of the feed-state table, with junk in them', () => {
  const item = (sk: string, value: unknown) => ({
    ...{ sk: { S: sk }, etag: { S: 'e' }, value: { S: JSON.stringify(value ?? null) } },
  });

  it('are read as they are, or an error: no crash that shows contents', async () => {
    const states = createFeedStates(createStore({ feedState: table }), { countsListed: true });
    const accounts = createPartnerAccounts(createStore({ feedState: table }));
    await fc.assert(
      fc.asyncProperty(
        nearlyRight({ row: { ...feedState(), ...partnerAccount(), hush: marker } }),
        async (value) => {
          const row = (value as { row?: unknown } | null)?.row;
          dynamo.on(QueryCommand).resolves({ Items: [item('main/adverts', row)] });
          dynamo.on(GetItemCommand).resolves({ Item: item('main', row) });

          for (const read of [() => states.list(), () => accounts.list(), () => accounts.read('main')]) {
            expectNoTrace(await errorOf(read));
          }
        },
      ),
      { numRuns: 150 },
    );
  });
});

describe('rows of the state file, with junk in them', () => {
  const folder = scratchFolders();

  async function opened() {
    const dir = folder();
    const state = openEmbeddedState(dir);
    const db = new DatabaseSync(stateFileIn(dir));
    await state.partnerAccounts.add(partnerAccount());
    await state.feedStates.register(feedState());
    await state.feedStates.register(feedState({ partnerAccount: 'other' }));
    await state.vault.write('main', tokenPair());
    return { state, db, close: () => [state, db].map((one) => one.close()) };
  }

  it('are an error that names the secret, where it is one', async () => {
    const { state, db, close } = await opened();
    const set = db.prepare(
      "UPDATE rows SET value = json_array(json_object('version', '1', 'pair', ?)) WHERE kind = 'tokens'",
    );
    const pair = { accessToken: marker, refreshToken: marker, scope: '', expiresAt: '', obtainedAt: '' };
    await fc.assert(
      fc.asyncProperty(nearlyRightJson(pair), async (text) => {
        set.run(text.toWellFormed());

        const error = await errorOf(() => state.vault.read('main'));

        expectNoTrace(error);
        expect(error).toBeInstanceOf(ShapeError);
      }),
      { numRuns: 60 },
    );
    close();
  });

  it('are delivered with a flaw where a message is none, and the others beside them', async () => {
    const { state, db, close } = await opened();
    const { aMessage } = await import('../../helpers/aws/fixtures.ts');
    await state.queue.send([aMessage('1'), aMessage('2')]);
    db.prepare('UPDATE messages SET body = ? WHERE sequence_number = 1').run(`{"advertId":"${marker}"`);

    const batch = await state.queue.receive({ maxGroups: 9, maxPerGroup: 9, visibilityMs: 1000 });

    expect(batch.map(({ message, flaw }) => message?.advertId ?? flaw)).toEqual([
      'message: expected JSON',
      '2',
    ]);
    close();
  });

  it('hide no feed but their own', async () => {
    const { state, db, close } = await opened();
    db.prepare("UPDATE rows SET value = '{\"since\":' WHERE kind = 'feed' AND name LIKE 'main/%'").run();
    try {
      const told: string[] = [];
      const states = await state.feedStates.list(({ message }) => told.push(message));

      expect(states.map(({ partnerAccount: name }) => name)).toEqual(['other']);
      expect(told).toEqual([expect.stringContaining('state of feed main/adverts: ')]);
    } finally {
      close();
    }
  });

  it('never show a secret that the application document holds', async () => {
    const { state, db, close } = await opened();
    await state.applicationSecret.write({ clientId: new Secret('id'), clientSecret: new Secret(marker) });
    db.prepare(
      "UPDATE rows SET value = json_quote(substr(value ->> '$', 1, length(value ->> '$') - 2)) WHERE name = 'application'",
    ).run();

    const error = await errorOf(() => state.applicationSecret.read());

    expectNoTrace(error);
    expect(error).toBeInstanceOf(ShapeError);
    close();
  });
});

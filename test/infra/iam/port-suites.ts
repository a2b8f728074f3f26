/** The ports' conformance suites, with the calls recorded that each function makes by the methods that it uses. */
import { beforeEach, expect, it } from 'vitest';
import { createApplicationSecret } from '../../../shared/aws/application-secret.ts';
import { createBooksWriter } from '../../../shared/aws/books.ts';
import { createChangedAdvertsQueue } from '../../../shared/aws/changed-adverts-queue.ts';
import { createDeadLetters } from '../../../shared/aws/dead-letters.ts';
import { createFeedStates } from '../../../shared/aws/feed-states.ts';
import { BatchSettler } from '../../../shared/aws/settler.ts';
import { createStore } from '../../../shared/aws/store.ts';
import { createTokenReader, createTokenUpdater, createTokenVault } from '../../../shared/aws/token-vault.ts';
import { secretNames } from '../../../shared/contract/names.ts';
import type { Kind } from '../../../shared/contract/tables.ts';
import type { Store } from '../../../shared/ports/store.ts';
import { createAside } from '../../../shared/state/aside.ts';
import { aReadersPolicy } from '../../helpers/aws/fake-secrets-manager.ts';
import { needsGroupsTogether } from '../../helpers/aws/fauxqs-gaps.ts';
import { anObserver } from '../../helpers/aws/fixtures.ts';
import { sqsInbox } from '../../helpers/aws/sqs-inbox.ts';
import { applicationSecretSuite } from '../../ports/application-secret.suite.ts';
import { asideSuite } from '../../ports/aside.suite.ts';
import { changedAdvertsQueueSuite } from '../../ports/changed-adverts-queue.suite.ts';
import { feedStatesSuite } from '../../ports/feed-states.suite.ts';
import { hurriedClock, sqsCapabilities } from '../../ports/sqs-queue.ts';
import { tokenVaultSuite } from '../../ports/token-vault.suite.ts';
import type { Caller, RecordedWorld } from './recorded-world.ts';

const everything = ['drain', 'fanOut', 'refreshToken', 'connect'] as const;

/**
 * A port whose methods `used` are the function's own calls; the others are made by the test.
 *
 * @param make the adapter for a caller
 */
function partly<P extends object>(make: (caller: Caller) => P, by: Caller, used: readonly (keyof P)[]): P {
  const own = make(by);
  return { ...make('harness'), ...Object.fromEntries(used.map((method) => [method, own[method]])) };
}

/** The kinds of rows that each function uses, and how. */
const rows: readonly (readonly [Caller, Kind, readonly (keyof Store)[]])[] = [
  ['drain', 'account', ['list', 'get', 'put']],
  ['fanOut', 'account', ['get', 'put']],
  // Backfills and audits put an account on hold, too.
  ['catchUp', 'account', ['list', 'get', 'put']],
  ['refreshToken', 'account', ['list', 'get', 'put']],
  ['connect', 'account', ['get', 'put', 'remove']],
  ['fanOut', 'history', ['get', 'put']],
  ['connect', 'history', ['get']],
  ...everything.map((by) => [by, 'bridge', ['get', 'put']] as const),
];

/** @param world of the test file, once it is started */
export function recordedPortSuites(world: () => RecordedWorld): void {
  it.each(rows)('%s may work on rows of kind %s: %j', async (by, kind, used) => {
    const [feedState, advertStatus] = await Promise.all([
      world().table('FeedState'),
      world().table('AdvertStatus'),
    ]);
    const make = (caller: Caller) =>
      createStore({ feedState: feedState.of(caller), advertStatus: advertStatus.of(caller) });
    const store = partly(make, by, used);
    const key = { kind, name: 'main' };

    const put = await store.put(key, { a: 1 }, 'absent');
    expect(await store.get(key)).toMatchObject({ value: { a: 1 } });
    expect(await store.list(kind)).toHaveLength(1);
    expect(await store.put(key, { a: 2 }, 'etag' in put ? put.etag : '')).toHaveProperty('etag');
    expect(await store.remove(key)).toBe(true);
    await store.add(key, { events: 1 });
  });

  for (const [by, used] of [
    ['drain', ['list', 'acquire', 'advance', 'release']],
    ['connect', ['list', 'register', 'remove']],
  ] as const) {
    feedStatesSuite(by, async () => {
      const table = await world().table('FeedState');
      return { feedStates: partly((caller) => createFeedStates(table.of(caller)), by, used) };
    });
  }

  const secrets = (caller: Caller) => world().clients(caller).secrets;
  const vaultOf = {
    drain: () => ({
      ...createTokenVault(secrets('harness'), secretNames, aReadersPolicy),
      ...createTokenReader(secrets('drain'), secretNames),
    }),
    fanOut: () => ({
      ...createTokenVault(secrets('harness'), secretNames, aReadersPolicy),
      ...createTokenReader(secrets('fanOut'), secretNames),
    }),
    refreshToken() {
      const connecting = createTokenVault(secrets('harness'), secretNames, aReadersPolicy);
      const updater = createTokenUpdater(secrets('refreshToken'), secretNames);
      return {
        ...connecting,
        ...updater,
        async write(name: string, pair: Parameters<typeof updater.write>[1]) {
          // Refreshed accounts were connected before.
          await connecting.write(name, pair);
          return updater.write(name, pair);
        },
      };
    },
    connect: () => ({
      ...createTokenVault(secrets('connect'), secretNames, aReadersPolicy),
      ...createTokenReader(secrets('harness'), secretNames),
    }),
  };
  for (const by of everything) {
    tokenVaultSuite(by, async () => {
      world().forgetSecrets();
      return {
        vault: vaultOf[by](),
        edit: (name, text) =>
          world().secrets.set(secretNames.partnerAccountPrefix + name, {
            SecretString: text,
            VersionId: 'edited',
          }),
      };
    });
  }

  for (const by of ['refreshToken', 'connect'] as const) {
    applicationSecretSuite(by, async (text) => {
      if (text === undefined) world().secrets.set(secretNames.application, undefined);
      else world().secrets.set(secretNames.application, { SecretString: text, VersionId: 'v' });
      return { applicationSecret: createApplicationSecret(secrets(by), secretNames) };
    });
  }

  beforeEach(({ task, skip }) => {
    skip(needsGroupsTogether.has(task.name), 'fauxqs hands out one message of a group at a time');
  });
  changedAdvertsQueueSuite('drain sends, fanOut settles', sqsCapabilities, async () => {
    const queue = world().queue('ChangedAdvertsQueue');
    const letters = world().queue('ChangedAdvertsDeadLetters');
    const table = await world().table('FeedState');
    const fanOut = {
      queue: queue.of('fanOut'),
      deadLetterQueue: letters.of('fanOut'),
      observer: anObserver().observer,
    };
    const settler = new BatchSettler({
      books: createBooksWriter(createStore({ feedState: table.of('fanOut') })),
      ...fanOut,
      aside: createAside(createStore({ feedState: table.of('fanOut') })),
    });
    return {
      queue: {
        ...createDeadLetters({ queue: letters.of('drain') }),
        ...createChangedAdvertsQueue({
          queue: queue.of('drain'),
          clock: hurriedClock(),
          accountDepth: {
            from: 0,
            inFlightOf: async (name) =>
              queue.bodies().filter((body) => JSON.parse(body).partnerAccount === name).length,
          },
        }),
        // Lambda receives and deletes by the function's role: aws-made-calls.ts.
        ...sqsInbox(queue.of('harness'), settler),
      },
    };
  });

  asideSuite('fanOut puts aside, drain puts back', async () => {
    const queue = world().queue('ChangedAdvertsQueue');
    const deadLetterQueue = world().queue('ChangedAdvertsDeadLetters').of('fanOut');
    const table = await world().table('FeedState');
    const asideOf = (by: 'drain' | 'fanOut') => createAside(createStore({ feedState: table.of(by) }));
    const settler = new BatchSettler({
      books: createBooksWriter(createStore({ feedState: table.of('fanOut') })),
      aside: asideOf('fanOut'),
      ...{ queue: queue.of('fanOut'), deadLetterQueue, observer: anObserver().observer },
    });
    const { send } = createChangedAdvertsQueue({ queue: queue.of('harness') });
    const sender = createChangedAdvertsQueue({ queue: queue.of('drain') });
    return {
      queue: { ...sender, send, ...sqsInbox(queue.of('harness'), settler) },
      aside: asideOf('drain'),
    };
  });
}

import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import type { SQSClient } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createDrain } from '../../../functions/drain/drain.ts';
import { createRefreshToken } from '../../../functions/refresh-token/refresh-token.ts';
import {
  createApplicationSecret,
  createTokenReader,
  createTokenUpdater,
  createTokenVault,
} from '../../../shared/aws/secrets.ts';
import { createChangedAdvertsQueue } from '../../../shared/aws/sqs.ts';
import { createStore } from '../../../shared/aws/store.ts';
import { secretNames } from '../../../shared/contract/names.ts';
import { CachedAccounts } from '../../../shared/partner-api/cached-rows.ts';
import type { AccessTokenOf } from '../../../shared/partner-api/client.ts';
import { createPartnerReaders } from '../../../shared/partner-api/partner-service.ts';
import { createTokenSource } from '../../../shared/partner-api/token-source.ts';
import { drainLimits, refreshLimits } from '../../../shared/runtime/limits.ts';
import { createAside } from '../../../shared/state/aside.ts';
import { createFeedStates } from '../../../shared/state/feed-states.ts';
import { createPartnerAccounts } from '../../../shared/state/partner-accounts.ts';
import { startDynamo, startSqs } from '../../helpers/aws/emulators.ts';
import { aReadersPolicy, fakeSecretsManager } from '../../helpers/aws/fake-secrets-manager.ts';
import { createFakeService } from '../../helpers/fake-service.ts';
import { freeHolds } from '../../helpers/holds.ts';
import { createManualClock } from '../../helpers/manual-clock.ts';
import { createRecordingObserver } from '../../helpers/recording-observer.ts';
import { feedState, partnerAccount, tokenPair } from '../../helpers/records.ts';

/** Enough to tell what is paid once from what is paid for each, and for two of the ten feeds polled at a time. */
const all = Array.from({ length: 25 }, (_, index) => `user-${1000 + index}`);

type Counts = Record<string, number>;

/** What docs/operate/capacity.md says of calls: counted on the wire, adapters and use cases as the functions have them. */
describe('the calls of a run over 25 partner accounts', () => {
  const fake = fakeSecretsManager();
  let dynamo: Awaited<ReturnType<typeof startDynamo>>;
  let sqs: Awaited<ReturnType<typeof startSqs>>;
  let container: Awaited<ReturnType<typeof setUp>>;
  let calls: Counts = {};
  const count = (command: string) => {
    const name = command.replace('Command', '');
    calls[name] = (calls[name] ?? 0) + 1;
  };
  const counted = (dynamoDb: DynamoDBClient, queues: SQSClient) => {
    const at = { step: 'initialize', name: 'counted' } as const;
    dynamoDb.middlewareStack.add((next, { commandName = '' }) => {
      count(commandName);
      return next;
    }, at);
    queues.middlewareStack.add((next, { commandName = '' }) => {
      count(commandName);
      return next;
    }, at);
  };

  beforeAll(async () => {
    [dynamo, sqs] = await Promise.all([startDynamo(), startSqs()]);
    container = await setUp();
  });
  afterAll(() => Promise.all([dynamo.stop(), sqs.stop()]));

  async function setUp() {
    const table = await dynamo.feedStateTable();
    const queue = sqs.createQueue();
    counted(table.client, queue.client);
    fake.start();
    fake.set('advert-bridge/application', '{"clientId":"client","clientSecret":"hush"}');
    const secrets = new SecretsManagerClient({ region: 'eu-central-1' });
    const clock = createManualClock();
    const service = createFakeService(clock);
    const observer = createRecordingObserver();
    const stored = createPartnerAccounts(createStore({ feedState: table }));
    const accounts = new CachedAccounts(stored, clock);
    const feedStates = createFeedStates(createStore({ feedState: table }), { countsListed: true });
    const vault = createTokenVault(secrets, secretNames, aReadersPolicy);
    const dayMs = 86_400_000;
    const pair = tokenPair({ expiresAt: clock.now() + dayMs, obtainedAt: clock.now() });
    await Promise.all(
      all.map(async (name) => {
        const version = await vault.write(name, pair);
        const token = { version, expiresAt: pair.expiresAt, usedAt: clock.now() };
        await stored.add(partnerAccount({ name, token }));
        await feedStates.register(feedState({ partnerAccount: name }));
      }),
    );
    const edges = { clock, random: () => 0.5 };
    const tokens = createTokenSource({
      holds: freeHolds,
      reader: createTokenReader(secrets, secretNames),
      requester: { refresh: () => Promise.reject(new Error('nothing has run out')) },
      accounts,
      clock,
    });
    const client = {
      async feedPage(token: AccessTokenOf) {
        if (typeof token === 'function') await token('feed');
        return service.readPage('', { since: '' } as never, { deadlineMs: 0, generation: 0 });
      },
      advert: () => Promise.reject(new Error('nothing changed')),
      adverts: () => Promise.reject(new Error('nothing is listed')),
    };
    let ids = 0;
    const newId = () => `id-${++ids}`;
    const drain = createDrain({
      accounts,
      aside: createAside(createStore({ feedState: table })),
      bridgePausedUntil: async () => 0,
      feedStates,
      reader: createPartnerReaders({ client, tokens }),
      queue: createChangedAdvertsQueue({
        queue,
        accountDepth: { from: drainLimits.fewWaiting, inFlightOf: async () => 0 },
        ...edges,
      }),
      deadLetters: { sendMalformed: async () => undefined, count: async () => 0 },
      observer,
      clock,
      newId,
      holder: 'drain',
      settings: { ...drainLimits, overlapSeconds: 300, pollSeconds: 60 },
    });
    const refreshToken = createRefreshToken({
      ...{ accounts: stored, vault: createTokenUpdater(secrets, secretNames), observer, ...edges, newId },
      application: createApplicationSecret(secrets, secretNames),
      endpoint: service,
      events: { publish: async () => undefined },
      settings: { bridge: 'AdvertBridge', requiredScope: 'v2 read write', ...refreshLimits },
    });
    return { clock, drain, refreshToken };
  }

  async function callsOf(work: () => Promise<unknown>): Promise<Counts> {
    calls = {};
    fake.mock.resetHistory();
    await work();
    for (const call of fake.mock.calls()) count(call.args[0].constructor.name);
    return calls;
  }
  const round = () => container.drain.round({ deadlineMs: container.clock.now() + 57_000 });
  const sweep = () => container.refreshToken.sweep({ deadlineMs: container.clock.now() + 57_000 });

  it('of a new container: each secret once; a read and two writes for each feed that has nothing', async () => {
    expect(await callsOf(round)).toEqual({
      Query: 3,
      GetSecretValue: 25,
      GetItem: 25,
      PutItem: 50,
      GetQueueAttributes: 1,
    });
  });

  it('of the same container a minute later: no secret at all', async () => {
    container.clock.advance(60_000);
    expect(await callsOf(round)).toEqual({ Query: 3, GetItem: 25, PutItem: 50, GetQueueAttributes: 1 });
  });

  it('of the same container later: the rows that the round lists tell whether there is a newer token', async () => {
    container.clock.advance(300_000);
    expect(await callsOf(round)).toEqual({ Query: 3, GetItem: 25, PutItem: 50, GetQueueAttributes: 1 });
  });

  it('of a sweep that finds nothing to do: one query', async () => {
    expect(await callsOf(sweep)).toEqual({ Query: 1 });
  });

  it('of a sweep after all tokens ran out: the application once, each secret read and written once', async () => {
    container.clock.advance(86_400_000);
    expect(await callsOf(sweep)).toEqual({
      Query: 1,
      // The application's secret once, and each pair.
      GetSecretValue: 1 + 25,
      PutSecretValue: 25,
      // The row for the request, for the lock, before the request, for the verdict, for the lock again.
      GetItem: 5 * 25,
      PutItem: 3 * 25,
    });
    expect(await callsOf(sweep)).toEqual({ Query: 1 });
  });
});

import { ScanCommand } from '@aws-sdk/client-dynamodb';
import { EventBridgeClient, PutEventsCommand } from '@aws-sdk/client-eventbridge';
import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { expect, it, onTestFinished, vi } from 'vitest';
import { answerConnect, createConnect } from '../../../functions/connect/connect.ts';
import { createDrain } from '../../../functions/drain/drain.ts';
import { createFanOut } from '../../../functions/fan-out/fan-out.ts';
import { answerRefreshToken } from '../../../functions/refresh-token/answer.ts';
import { createRefreshToken } from '../../../functions/refresh-token/refresh-token.ts';
import { redriveDeadLetters } from '../../../operations/dead-letters.ts';
import { startSandbox } from '../../../sandbox/server.ts';
import { createEventPublisher } from '../../../shared/aws/event-publisher.ts';
import { createApplicationSecret, createTokenVault } from '../../../shared/aws/secrets.ts';
import { createBatchSettler } from '../../../shared/aws/settler.ts';
import { createChangedAdvertsQueue } from '../../../shared/aws/sqs.ts';
import { createStore } from '../../../shared/aws/store.ts';
import { secretNames } from '../../../shared/contract/names.ts';
import { Secret } from '../../../shared/domain/secret.ts';
import { CachedAccounts } from '../../../shared/partner-api/cached-rows.ts';
import { createPartnerReaders } from '../../../shared/partner-api/partner-service.ts';
import { createTokenSource } from '../../../shared/partner-api/token-source.ts';
import { drainLimits, fanOutLimits, refreshLimits } from '../../../shared/runtime/limits.ts';
import { createTelemetry } from '../../../shared/runtime/observer.ts';
import { createAdvertHistories } from '../../../shared/state/advert-histories.ts';
import { createAside, createDeadLetters } from '../../../shared/state/aside.ts';
import { createBooksWriter, readBooks } from '../../../shared/state/books.ts';
import { createFeedStates } from '../../../shared/state/feed-states.ts';
import { createPartnerAccounts } from '../../../shared/state/partner-accounts.ts';
import { seededRandom } from '../../../subscriber/testing/player.ts';
import { startDynamo, startSqs } from '../../helpers/aws/emulators.ts';
import { aReadersPolicy, fakeSecretsManager } from '../../helpers/aws/fake-secrets-manager.ts';
import { mockClient } from '../../helpers/aws/mock-client.ts';
import { sqsInbox } from '../../helpers/aws/sqs-inbox.ts';
import { freeHolds } from '../../helpers/holds.ts';
import { echoesOf, leaksIn, type Place } from '../../helpers/leaks.ts';
import { createManualClock } from '../../helpers/manual-clock.ts';
import { clientOf } from '../../helpers/partner-api/fixtures.ts';

const clientSecret = 'client hush+"secret"/1=é';
const firstToken = 'first refresh+token/"quoted"=2';

/** The three stages as their handlers wire them, over emulated services; everything that leaves them is kept. */
async function startBridge() {
  const clock = createManualClock(Date.now());
  const users = [{ name: 'main', refreshToken: firstToken, adverts: 0 }];
  // Seeded: one random token in a thousand has no digit, and only a digit tells a token that is not ours from a word.
  const random = seededRandom(1);
  const sandbox = await startSandbox({ clock, random, clientSecret, users, visibilityDelayMs: 0 });
  const [dynamo, sqs] = await Promise.all([startDynamo(), startSqs()]);
  onTestFinished(async () => {
    await Promise.all([sandbox.close(), dynamo.stop(), sqs.stop()]);
  });
  const places: Place[] = [];
  const keep = (where: string) => (chunk: unknown) => places.push({ where, text: String(chunk) }) > 0;
  vi.spyOn(process.stdout, 'write').mockImplementation(keep('standard output'));
  vi.spyOn(process.stderr, 'write').mockImplementation(keep('standard error'));
  const bus = mockClient(EventBridgeClient);
  bus.on(PutEventsCommand).callsFake(async ({ Entries }) => {
    keep('event')(JSON.stringify(Entries));
    return { Entries: Entries.map(() => ({ EventId: 'e' })) };
  });
  const fake = fakeSecretsManager();
  fake.start();
  // Made by the stack, without a value.
  fake.set('advert-bridge/application', undefined);
  const secretsManager = new SecretsManagerClient({ region: 'eu-central-1' });

  const [table, statusTable] = await Promise.all([dynamo.feedStateTable(), dynamo.advertStatusTable()]);
  const queue = sqs.createQueue();
  const { observer, logger, metrics } = createTelemetry();
  logger.setLogLevel('DEBUG');
  let ids = 0;
  const edges = { clock, random: () => 0.5, newId: () => `id-${++ids}` };
  const accounts = createPartnerAccounts(createStore({ feedState: table }));
  const feedStates = createFeedStates(createStore({ feedState: table }), { countsListed: true });
  const books = createBooksWriter(createStore({ feedState: table }));
  const histories = createAdvertHistories(createStore({ advertStatus: statusTable }));
  const vault = createTokenVault(secretsManager, secretNames, aReadersPolicy);
  const application = createApplicationSecret(secretsManager, secretNames);
  const client = clientOf(sandbox.url, { clock });
  const events = createEventPublisher({ client: new EventBridgeClient({}), busName: 'adverts' });
  const tokenDeps = {
    ...{ ...edges, accounts, feedStates, vault, application, endpoint: client, events, observer },
    ...{ feedProbe: client, knownAdverts: histories, consentPage: client },
    bookKeeper: {
      read: (name: string, generation: number) =>
        readBooks(createStore({ feedState: table }), name, generation),
    },
    settings: {
      bridge: 'AdvertBridge',
      requiredScope: 'v2 read write',
      overlapSeconds: 300,
      ...refreshLimits,
    },
  };
  const refreshToken = createRefreshToken({
    ...tokenDeps,
    vault: createTokenVault(secretsManager, secretNames),
  });
  const connecting = createConnect(tokenDeps);
  const options = () => ({ deadlineMs: clock.now() + 57_000 });
  /** A function's answer is sent over the network, and may be logged. */
  const kept = (where: string, answer: object) => {
    keep(where)(JSON.stringify(answer));
    return answer as { readonly kind?: string };
  };
  const askRefresh = async (event: object) =>
    kept('answer of refresh-token', await answerRefreshToken(refreshToken, event, options()));
  const ask = async (event: object) =>
    kept('answer of connect', await answerConnect(connecting, event, options()));
  const tokens = createTokenSource({
    holds: freeHolds,
    reader: vault,
    requester: {
      refresh: async (request) => (await askRefresh({ action: 'refresh', ...request })) as never,
    },
    accounts: new CachedAccounts(accounts, clock),
    clock,
  });
  const reader = createPartnerReaders({ client, tokens });
  const aside = createAside(createStore({ feedState: table }));
  const deadLetters = createDeadLetters(createStore({ feedState: table }));
  const bridgePausedUntil = async () => 0;
  const drain = createDrain({
    ...{ ...edges, accounts, feedStates, reader, observer, holder: 'drain' },
    queue: createChangedAdvertsQueue({ queue }),
    deadLetters,
    aside,
    bridgePausedUntil,
    settings: { ...drainLimits, overlapSeconds: 300, pollSeconds: 60 },
  });
  const fanOut = createFanOut({
    ...{ ...edges, histories, adverts: reader, events, observer, bridgePausedUntil },
    accounts: new CachedAccounts(accounts, clock),
    settings: { bridge: 'AdvertBridge', ...fanOutLimits, advertTries: 1, confirmUnavailableSeconds: 0 },
  });
  const inbox = sqsInbox(queue, createBatchSettler({ queue, books, observer, aside }));

  /** A round of the drain, then what it queued. */
  async function pass(): Promise<void> {
    const report = await drain.round(options());
    keep('answer of drain')(JSON.stringify(report));
    await look();
    const batch = await inbox.receive({ maxGroups: 10, maxPerGroup: 10, visibilityMs: 60_000 });
    await inbox.settle(await fanOut.handle(batch, options()));
    if (metrics.hasStoredMetrics()) metrics.publishStoredMetrics();
    await look();
    clock.advance(60_000);
  }
  /** Everything that is stored outside of Secrets Manager. */
  async function look(): Promise<void> {
    for (const { client: dynamoDb, name } of [table, statusTable]) {
      const { Items } = await dynamoDb.send(new ScanCommand({ TableName: name }));
      keep(`table ${name}`)(JSON.stringify(Items));
    }
    for (const body of queue.bodies()) keep('queue')(body);
  }
  const redrive = () =>
    redriveDeadLetters(
      { deadLetters, aside, queue: createChangedAdvertsQueue({ queue }), booksWriter: books },
      {},
    );
  const stored = async () => {
    const ask = new GetSecretValueCommand({ SecretId: 'advert-bridge/partner-accounts/main' });
    return (await secretsManager.send(ask)).SecretString ?? '';
  };
  return {
    ...{ clock, sandbox, places, application, ask, askRefresh, pass, deadLetters, redrive, stored, look },
  };
}

it('no secret leaves the deployed bridge through a whole life with faults that repeat them', async () => {
  const bridge = await startBridge();
  const { control } = bridge.sandbox;
  const code = 'not a=code/at+all "really"';
  const connect = (secret: object) => bridge.ask({ action: 'connect', partnerAccount: 'main', ...secret });
  const redirectUri = 'http://127.0.0.1:8765/callback';
  const store = (secret: string) =>
    bridge.application.write({ clientId: new Secret('sandbox-client'), clientSecret: new Secret(secret) });
  const refuse = (
    endpoint: 'token' | 'advert' | 'feed',
    status: number,
    error: string,
    text: string,
    more = {},
  ) =>
    control.faults.add({
      ...{ endpoint, kind: 'status', status, count: 1, ...more },
      body: { error, error_description: text },
    });

  await store(clientSecret);
  for (const text of [...echoesOf(code), ...echoesOf(clientSecret)]) {
    refuse('token', 400, 'invalid_grant', text);
    expect(await connect({ code, redirectUri })).toMatchObject({ kind: 'refused' });
  }
  expect(await bridge.ask({ action: 'check' })).toMatchObject({ kind: 'accepted', scope: 'v2 read write' });
  refuse('token', 401, 'unauthorized_client', echoesOf(clientSecret).join(' '), { count: 2 });
  expect(await bridge.ask({ action: 'check' })).toMatchObject({ kind: 'refused', fault: 'client-rejected' });
  control.faults.clear();
  const used = control.issueCode({ redirectUri });
  expect(await connect({ code: used, redirectUri })).toMatchObject({ kind: 'connected' });

  const adverts = control.createAdverts(3, { status: 'active' });
  // Of the pair that the bridge has; nobody could tell it what else looks like a secret to the service.
  const echoes = control
    .issuedTokens()
    .filter((token) => token !== firstToken)
    .flatMap(echoesOf);
  for (const [index, advertId] of adverts.entries()) {
    refuse('advert', 400, 'validation_error', echoes[index] ?? '', { advertId });
  }
  await bridge.pass();
  expect(await bridge.deadLetters.count()).toBe(3);
  for (const text of echoes) {
    refuse('feed', 400, 'validation_error', text, { count: 2 });
    await bridge.pass();
    // A feed that refuses its request again is held for five minutes.
    bridge.clock.advance(300_000);
  }

  const { refreshToken = '' } = JSON.parse(await bridge.stored());
  for (const text of [...echoesOf(refreshToken), ...echoesOf(clientSecret)]) {
    control.expireAccessTokens();
    refuse('token', 503, 'temporarily_unavailable', text);
    await bridge.pass();
  }
  await store('another hush=2');
  bridge.clock.advance(300_000);
  control.expireAccessTokens();
  refuse('token', 401, 'invalid_client', echoesOf('another hush=2').join(' '));
  await bridge.pass();
  await store(clientSecret);

  control.revoke();
  await bridge.pass();
  expect(await connect({ refreshToken: control.issueRefreshToken() })).toMatchObject({ isNew: false });
  await bridge.redrive();
  await bridge.pass();
  await bridge.askRefresh({});
  const kept = await bridge.stored();
  const forgetting = await bridge.ask({ action: 'disconnect', partnerAccount: 'main', forget: true });
  await bridge.ask({ ...forgetting, action: 'forget', partnerAccount: 'main' });
  await bridge.look();

  const secrets = [...control.issuedTokens(), clientSecret, code, used, 'another hush=2'];
  expect(leaksIn(bridge.places, secrets)).toEqual([]);
  // That there was something to be found, and that the search finds what is there.
  expect(leaksIn([{ where: 'secret', text: kept }], secrets).length).toBeGreaterThan(1);
  const whole = bridge.places.map(({ text }) => text).join('\n');
  for (const seen of [
    '[redacted]',
    'PartnerAuthorizationRequired',
    'PartnerAuthorizationRestored',
    '"level":"ERROR"',
    'NeedsAttention',
  ]) {
    expect(whole).toContain(seen);
  }
  expect(new Set(bridge.places.map(({ where }) => where))).toEqual(
    new Set([
      'standard output',
      'standard error',
      'event',
      'answer of connect',
      'answer of refresh-token',
      'answer of drain',
      'table table-1',
      'table table-2',
      'queue',
    ]),
  );
}, 60_000);

import type { GetMetricDataCommandInput } from '@aws-sdk/client-cloudwatch';
import type { InvokeCommandInput } from '@aws-sdk/client-lambda';
import { ResourceNotFoundException } from '@aws-sdk/client-secrets-manager';
import { SendMessageCommand } from '@aws-sdk/client-sqs';
import { expect, it } from 'vitest';
import { stackClients } from '../../../../operators/operations/stack-clients.ts';
import type { StackOutputs } from '../../../../operators/operations/stack-outputs.ts';
import { readPast } from '../../../../operators/operations/stack-state.ts';
import packageJson from '../../../../package.json' with { type: 'json' };
import { createBookKeeper } from '../../../../shared/aws/sqs.ts';
import { createAdvertHistories } from '../../../../shared/state/advert-histories.ts';
import { createAside } from '../../../../shared/state/aside.ts';
import { booksKey } from '../../../../shared/state/books.ts';
import { createDeadLetters } from '../../../../shared/state/dead-letters.ts';
import { aMessage } from '../../../helpers/aws/fixtures.ts';
import { deadLetter, partnerAccount } from '../../../helpers/records.ts';
import { aSecret, beforeEachStack, type PlayedStack, refusing } from './played-stack.ts';
import { cli } from './run-cli.ts';

let stack: PlayedStack;
beforeEachStack((begun) => {
  stack = begun;
});

const requests = () =>
  stack.inputsOf<InvokeCommandInput>('Invoke').map(({ FunctionName: functionName, Payload }) => ({
    functionName,
    payload: JSON.parse(String(Payload)),
  }));
/** What was asked for of the only request for metrics. */
const metricsAsked = () =>
  stack
    .inputsOf<GetMetricDataCommandInput>('GetMetricData')
    .at(-1)
    ?.MetricDataQueries?.map(({ MetricStat }) => MetricStat?.Metric);

it('application stores the credentials in the secret of the stack', async () => {
  const ended = await cli('application --client-id a --client-secret-stdin', { stdin: 'hush\n' });

  expect(ended).toMatchObject({ exitCode: 0, stdout: '' });
  const SecretString = JSON.stringify({ clientId: 'a', clientSecret: 'hush' });
  expect(stack.inputsOf('PutSecretValue')).toEqual([{ SecretId: 'advert-bridge/application', SecretString }]);
});

it('application --check has the stack check before it stores', async () => {
  const check = () => cli('application --client-id a --client-secret-stdin --check', { stdin: 'hush\n' });
  stack.played.answer = {
    kind: 'refused',
    fault: 'client-rejected',
    reason: 'invalid_client',
    status: 401,
  };
  expect(await check()).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('nothing was stored: the service refuses the client ID'),
  });
  expect(stack.inputsOf('PutSecretValue')).toEqual([]);
  stack.played.answer = { kind: 'accepted', scope: 'v2' };
  expect(await check()).toMatchObject({ exitCode: 0 });
  expect(stack.inputsOf('PutSecretValue')).toHaveLength(1);
  const payload = { action: 'check-application', clientId: 'a', clientSecret: 'hush' };
  expect(requests().map((request) => request.payload)).toEqual([payload, payload]);
});

it('application asks to deploy the stack when the secret is missing', async () => {
  const message = "Secrets Manager can't find the specified secret.";
  const absent = new ResourceNotFoundException({ message, $metadata: {} });
  stack.answers.PutSecretValue = refusing(absent);

  expect(await cli('application --client-id a --client-secret-stdin', { stdin: 'hush' })).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('Deploy the stack again'),
  });
});

const connected = {
  ...{ partnerAccount: 'main', generation: 7, scope: 'v2 read write', isNew: true },
  tokenExpiresAt: '2026-11-20T12:00:00.000Z',
};

const connect = (args = '') => cli(`connect main --refresh-token-stdin${args}`, { stdin: 'token-1\n' });

it('connect invokes the connect function and prints its answer', async () => {
  const account = { ...connected, feed: { kind: 'read', listed: 0, hasMore: false } };
  stack.played.answer = { kind: 'connected', ...account };

  const { exitCode, stdout } = await connect(' --json --since 2026-11-20T13:00:00+01:00');

  expect(exitCode).toBe(0);
  expect(JSON.parse(stdout)).toEqual(account);
  expect(requests()).toEqual([
    {
      functionName: 'ConnectFunctionName',
      payload: {
        action: 'connect',
        partnerAccount: 'main',
        refreshToken: 'token-1',
        since: '2026-11-20T12:00:00.000Z',
      },
    },
  ]);
});

it('the connect function makes the address and takes the browser’s code', async () => {
  const account = {
    ...connected,
    feed: { kind: 'failed', fault: 'transient', reason: 'GET /api/partner/status/adverts answered 503' },
  };
  const authorize = { kind: 'authorize', url: 'https://partner.example/oauth/authorize/?state=x' };
  stack.played.answers = [authorize, { kind: 'connected', ...account }];
  const onOutput = (text: string) => {
    const redirectUri = /back to (http:\S+),/.exec(text)?.[1];
    if (redirectUri === undefined) return;
    const { state } = requests()[0]?.payload ?? {};
    void fetch(`${redirectUri}?code=one-time-code&state=${state}`);
  };

  const ended = await cli('connect main --port 0', { onOutput });

  const [begun, handedIn] = requests().map(({ payload }) => payload);
  expect(begun).toEqual({
    action: 'authorize',
    state: expect.stringMatching(/^[\w-]{43}$/),
    redirectUri: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/callback$/),
  });
  expect(handedIn).toEqual({
    action: 'connect',
    partnerAccount: 'main',
    code: 'one-time-code',
    redirectUri: begun.redirectUri,
  });
  expect(ended).toMatchObject({ exitCode: 3, stdout: '' });
  expect(ended.stderr).toContain('The first request for its feed failed (transient)');
  expect(ended.stderr).not.toContain('one-time-code');
});

it('pause and resume write with the caller’s credentials and name', async () => {
  const { partnerAccounts } = stack;
  const before = await partnerAccounts.read('main');
  const who = expect.stringMatching(/^arn:aws:/);

  expect(await cli('pause main --for 1h --reason quiet')).toMatchObject({ exitCode: 0 });
  expect(await cli('pause')).toMatchObject({ exitCode: 0 });

  const { partnerAccounts: shown, paused } = JSON.parse((await cli('status --json')).stdout);
  expect(shown[0]).toMatchObject({ state: 'paused', paused: { who, reason: 'quiet' } });
  expect(paused).toMatchObject({ who, until: null, reason: null });
  await cli('resume main');
  expect(await cli('resume')).toMatchObject({ exitCode: 0 });
  expect(await partnerAccounts.read('main')).toEqual(before);
  expect(requests()).toEqual([]);
});

it('poll has the drain function ask, and prints its answer', async () => {
  const found = {
    polls: [{ partnerAccount: 'main', feed: 'adverts', end: 'up-to-date', pages: 1, listed: 2 }],
    notPolled: [],
  };
  stack.played.answer = found;

  const { exitCode, stdout } = await cli('poll main --json');

  expect(exitCode).toBe(0);
  expect(JSON.parse(stdout)).toEqual(found);
  expect(requests()).toEqual([
    { functionName: 'DrainFunctionName', payload: { action: 'poll', partnerAccount: 'main' } },
  ]);
});

it('status reads the tables and the queues', async () => {
  const { exitCode, stdout } = await cli('status --json');

  expect(exitCode).toBe(0);
  const status = JSON.parse(stdout);
  const { version } = packageJson;
  expect(status).toMatchObject({
    partnerAccounts: [{ name: 'main', state: 'polling', lastSuccess: null }],
    ...{ queue: { waiting: 0, deadLetters: 0 }, oldestWaitingSeconds: null, lastDrain: null },
    ...{ pausedUntil: null, pauseReason: null, schedule: 'enabled', mapping: 'enabled', alarms: [] },
    ...{ rules: [{ name: 'search', state: 'enabled' }], attention: [] },
    version: { deployed: version, command: version },
  });
  expect(Object.entries(status.partnerAccounts[0].books).join(' ')).toBe(
    'listed,0 events,0 unchanged,0 coalesced,0 unavailable,0 deadLettered,0 inFlight,0',
  );
});

it.each<[string, () => unknown, object, RegExp]>([
  [
    'a table that is gone',
    () => stack.dropTable(stack.tables.advertStatus),
    { attention: ['table'] },
    /^Not delivering: Table .*\n.*docs\/operate\/backup\.md/s,
  ],
  [
    'a function that may not run',
    () => Object.assign(stack.played.functions, { FanOutFunctionName: { reserved: 0 } }),
    { attention: ['function'] },
    /^Not delivering: Function FanOutFunctionName may not run: .*delete-function-concurrency --function-name F/s,
  ],
  [
    'a secret that waits for its deletion',
    () => Object.assign(stack.played, { secrets: [aSecret('main', { DeletedDate: new Date(0) })] }),
    { findings: [{ what: 'secret-deleted', partnerAccount: 'main' }] },
    /^Not delivering: The secret \S+\/main waits for its deletion.*restore-secret --secret-id advert-bridge\/p/s,
  ],
  [
    'what may not be looked at',
    () => {
      const denied = Object.assign(new Error('no cloudwatch:DescribeAlarms'), { name: 'AccessDenied' });
      stack.answers.DescribeAlarms = refusing(denied);
    },
    { alarms: null, schedule: 'enabled', attention: ['unseen'] },
    /AWS did not show the alarms \(AccessDenied: no cloudwatch:DescribeAlarms\)\. .*deploy\.md#what-status-/,
  ],
])('status leaves to a person %s', async (_what, plant, expected, sentence) => {
  await plant();

  const asJson = await cli('status --json');

  expect(JSON.parse(asJson.stdout)).toMatchObject(expected);
  const asText = await cli('status');
  expect([asJson.exitCode, asText.exitCode]).toEqual([3, 3]);
  expect(asText.stdout).toMatch(sentence);
});

it('status tells the age of the oldest message when any waits', async () => {
  stack.played.metrics = [{ Id: 'oldest', Timestamps: [new Date(), new Date(0)], Values: [600, 540] }];
  const waits = async () => JSON.parse((await cli('status --json')).stdout).oldestWaitingSeconds;

  expect(await waits()).toBeNull();
  const { client, url: QueueUrl } = stack.queue;
  const message = { MessageBody: '{}', MessageGroupId: 'a', MessageDeduplicationId: 'a' };
  await client.send(new SendMessageCommand({ QueueUrl, ...message }));
  expect(await waits()).toBe(600);
  expect(metricsAsked()?.[0]).toMatchObject({
    MetricName: 'ApproximateAgeOfOldestMessage',
    Dimensions: [{ Name: 'QueueName', Value: QueueUrl.split('/').at(-1) }],
  });
});

it('status finds no fault in an event source mapping in change', async () => {
  Object.assign(stack.played.mapping ?? {}, { State: 'Updating' });
  expect(await cli('status')).toMatchObject({
    ...{ exitCode: 0, stdout: expect.stringMatching(/mapping: +updating/) },
  });
});

it('the last half hour of the plots comes from CloudWatch', async () => {
  const [first, second] = [new Date(60_000), new Date(120_000)];
  stack.played.metrics = [
    { Id: 'lag', Timestamps: [second, first], Values: [7, 3] },
    { Id: 'events', Timestamps: [second], Values: [40] },
  ];
  const outputs = { bridgeName: 'AdvertBridge', queueUrl: 'https://sqs.example/1/QueueUrl' } as StackOutputs;
  const clients = stackClients();

  expect(await readPast({ outputs, clients }, 180_000)).toEqual([
    { atMs: 120_000, values: { lag: 7, events: 40 } },
    { atMs: 60_000, values: { lag: 3 } },
  ]);
  expect(metricsAsked()).toMatchObject([
    { MetricName: 'FeedLagSeconds', Dimensions: [{ Name: 'service', Value: 'advert-bridge' }] },
    { Namespace: 'AWS/SQS', Dimensions: [{ Name: 'QueueName', Value: 'QueueUrl' }] },
    { Namespace: 'AdvertBridge', MetricName: 'Events' },
  ]);
});

it('disconnect removes the history before the name is forgotten', async () => {
  const histories = createAdvertHistories(stack.store);
  const generation = 1_763_640_000;
  const key = { partnerAccount: 'main', generation, feed: 'adverts', advertId: '1' } as const;
  await histories.write(key, { sequence: 1, status: 'active', pending: false, etag: 'absent' });
  stack.played.answers = [{ kind: 'forgetting', generation }, { kind: 'forgotten' }];

  expect(await cli('disconnect main --forget --yes')).toMatchObject({ exitCode: 0 });

  expect(await histories.read(key)).toBeUndefined();
  expect(requests().map(({ payload }) => payload)).toEqual([
    { action: 'disconnect', partnerAccount: 'main', forget: true },
    { action: 'forget', partnerAccount: 'main', generation },
  ]);
});

it.each(['backfill main', 'resync main --since 2026-11-20T12:00:00Z'])(
  'the role that may read tokens is named when AWS denies that: %s',
  async (command) => {
    const message = 'User: me is not authorized to perform: secretsmanager:GetSecretValue on resource: r';
    const denied = Object.assign(new Error(message), { name: 'AccessDeniedException' });
    stack.answers.GetSecretValue = refusing(denied);

    const { exitCode, stderr } = await cli(command);

    expect(exitCode).toBe(1);
    for (const part of [
      `AWS denies it: ${message}. Tokens are read by roles of the bridge alone`,
      'output CatchUpRoleArn',
      'docs/operate/deploy.md',
    ])
      expect(stderr).toContain(part);
    expect(stderr).not.toContain('partner service');
  },
);

it('redriven dead letters leave the books, those with nothing to send stay', async () => {
  const { queue, store } = stack;
  const { name, generation } = partnerAccount();
  const deadLetters = createDeadLetters(store);
  const aside = createAside(store);
  const bookKeeper = createBookKeeper({ store, aside, queue, deadLetters });
  const message = aMessage('11');
  await store.add(booksKey(name, generation), { deadLettered: 2 });
  await deadLetters.sendMalformed(deadLetter({ advertId: '11', message }));
  await deadLetters.sendMalformed(deadLetter({ advertId: 'x', fault: 'malformed-id', message: null }));

  const redriven = await cli('dead-letters redrive main');
  const dropped = await cli('dead-letters drop main --yes');

  expect(redriven).toMatchObject({
    ...{ exitCode: 3, stdout: '', stderr: expect.stringContaining('nothing to send') },
  });
  expect(await aside.list(name)).toMatchObject([{ message }]);
  expect((await bookKeeper.read(name, generation)).deadLettered).toBe(1);
  expect(dropped).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('arn:aws:') });
  expect(await deadLetters.count()).toBe(0);
});

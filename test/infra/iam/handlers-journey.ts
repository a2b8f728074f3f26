/** The handlers that Lambda runs, from `connect` to `forget`: each call is attributed to the function that made it. */
import type { Context, SQSBatchResponse, SQSRecord } from 'aws-lambda';
import { expect } from 'vitest';
import { startSandbox } from '../../../sandbox/server.ts';
import { type FunctionName, resourceKeys, settingsKey } from '../../../shared/contract/environment.ts';
import { eventSource, outputs, secretNames } from '../../../shared/contract/names.ts';
import { deleteHandled, receiveRecords } from '../../helpers/aws/sqs-inbox.ts';
import { busName, drainFunction, type RecordedWorld, refreshTokenFunction } from './recorded-world.ts';

type Handler = (event: unknown, context: Context) => Promise<unknown>;

export interface JourneyOptions {
  readonly world: RecordedWorld;
  /** Lets time pass for the functions. */
  readonly pass: (ms: number) => void;
  setEnvironment(variables: Readonly<Record<string, string>>): void;
  /** Loads a handler whose clients go through the function's own proxy. */
  readonly load: (name: FunctionName) => Promise<Handler>;
  /** Runs a command with the role for catching up. */
  readonly catchUp: (command: string) => Promise<{ readonly exitCode: number; readonly stderr: string }>;
}

export type Invoke = (name: FunctionName, event?: unknown) => Promise<unknown>;

const context = {
  awsRequestId: 'request-1',
  functionName: 'bridge',
  // The functions' clock is hours ahead in the end; what is left of an invocation is counted by the machine's.
  getRemainingTimeInMillis: () => 86_400_000,
} as Context;

/** Everything that the journey needs. `invoke` also answers when a function invokes refresh-token. */
export async function startJourney({ world, setEnvironment, load, pass, catchUp }: JourneyOptions) {
  const sandbox = await startSandbox({ adverts: 0, visibilityDelayMs: 0, users: [{ name: 'main' }] });
  const [feedState, advertStatus] = [await world.table('FeedState'), await world.table('AdvertStatus')];
  const queue = world.queue();
  world.forgetSecrets();
  const { clientId, clientSecret } = sandbox.application;
  world.setSecret(secretNames.application, JSON.stringify({ clientId, clientSecret }));
  const environment = {
    [settingsKey]: JSON.stringify({
      ...{ partnerBaseUrl: sandbox.url, maxRequestsPerSecond: 1000 },
      ...{ confirmUnavailableSeconds: 0, auditSample: 1 },
    }),
    [resourceKeys.namePrefix]: eventSource,
    [resourceKeys.feedStateTable]: feedState.name,
    [resourceKeys.advertStatusTable]: advertStatus.name,
    [resourceKeys.eventBusName]: busName,
    [resourceKeys.queueUrl]: queue.url,
    [resourceKeys.refreshTokenFunction]: refreshTokenFunction,
    [resourceKeys.partnerSecretPolicy]: '{"Version":"2012-10-17","Statement":[]}',
  };
  setEnvironment(environment);
  const names: Readonly<Record<string, string>> = {
    [outputs.feedStateTableName]: feedState.name,
    [outputs.advertStatusTableName]: advertStatus.name,
    [outputs.queueUrl]: queue.url,
    [outputs.drainFunctionName]: drainFunction,
    [outputs.refreshTokenFunctionName]: refreshTokenFunction,
  };
  world.deploy(
    Object.fromEntries(Object.values(outputs).map((output) => [output, names[output] ?? output])),
    environment,
  );
  const invoke: Invoke = async (name, event = {}) => (await load(name))(event, context);

  /** Invokes fan-out with a batch from the queue, and deletes what it does not report. */
  async function fanOut(more: readonly SQSRecord[] = []): Promise<SQSBatchResponse> {
    const received = await receiveRecords(queue);
    const result = (await invoke('fanOut', { Records: [...received, ...more] })) as SQSBatchResponse;
    await deleteHandled(queue, received, result);
    return result;
  }

  return { sandbox, invoke, fanOut, pass, catchUp, stop: () => sandbox.close() };
}

export type Journey = Awaited<ReturnType<typeof startJourney>>;

const name = 'main';
const stray = {
  ...{ messageId: 'stray', receiptHandle: 'r', body: 'not ours' },
  attributes: { ApproximateReceiveCount: '1', SentTimestamp: String(Date.now()), SequenceNumber: '1' },
} as unknown as SQSRecord;
/** Longer than a function believes what it knows of an account or a token, and the drain the depth of the queue. */
const believedMs = 61 * 60_000;

async function connect({ sandbox, invoke }: Journey, refreshToken: string | undefined): Promise<void> {
  const request = { action: 'connect', partnerAccount: name, refreshToken, sameUser: false };
  expect(await invoke('connect', request)).toMatchObject({ kind: 'connected' });
  expect(sandbox.control.users()).toHaveLength(1);
}

/** The life of one partner account. Each function gets the same input as from schedule, queue and command line. */
export async function travel(journey: Journey): Promise<void> {
  const { sandbox, invoke, fanOut, pass, catchUp } = journey;
  const { control } = sandbox;

  const redirectUri = 'http://127.0.0.1:8765/callback';
  const authorize = { action: 'authorize', state: 'a-state-of-some-length', redirectUri };
  expect(await invoke('connect', authorize)).toMatchObject({ kind: 'authorize' });
  expect(await invoke('connect', { action: 'check' })).toMatchObject({ kind: 'accepted' });
  await connect(journey, sandbox.users[0]?.refreshToken);

  // Adverts: one published, one that cannot be fetched now, one that is not an ID, and a foreign message.
  const [first = '', second = ''] = control.createAdverts(2, { status: 'new' });
  control.listRaw('no-id');
  control.faults.add({ endpoint: 'advert', kind: 'status', status: 503, count: 9, advertId: second });
  expect(await invoke('drain')).toMatchObject({ polls: [{ end: 'up-to-date', listed: 3 }] });
  const { batchItemFailures } = await fanOut([stray]);
  expect(batchItemFailures).toHaveLength(1);
  control.faults.clear();

  // Tokens that have run out, met by the fan-out and by the drain; nothing is left to do for the sweep.
  pass(believedMs);
  control.setStatus(first, 'active');
  expect(await invoke('drain')).toMatchObject({ polls: [{ end: 'up-to-date' }] });
  control.expireAccessTokens();
  expect(await fanOut()).toEqual({ batchItemFailures: [] });
  // The queue may keep back the message of the daily audit at first.
  await fanOut();
  await fanOut();
  pass(believedMs);
  control.expireAccessTokens();
  control.setStatus(first, 'limited');
  expect(await invoke('drain')).toMatchObject({ polls: [{ end: 'up-to-date' }] });
  expect(await fanOut()).toEqual({ batchItemFailures: [] });
  await fanOut();
  expect(await invoke('refreshToken')).toEqual({ refreshed: [], failed: [] });

  // The user takes the grant back, and gives it again.
  control.revoke(name);
  control.setStatus(first, 'sold');
  await invoke('drain');
  await connect(journey, control.issueRefreshToken(name));
  pass(believedMs);
  expect(await invoke('drain')).toMatchObject({ polls: [{ end: 'up-to-date' }] });
  await fanOut();

  // A person asks the feed now.
  const poll = { action: 'poll', partnerAccount: name };
  expect(await invoke('drain', poll)).toMatchObject({
    polls: [{ partnerAccount: name, feed: 'adverts', end: 'up-to-date' }],
    notPolled: [],
  });

  // An operator runs catch-up commands, with an expired token and with an unknown name.
  control.expireAccessTokens();
  expect(await catchUp('resync main --since 2026-11-01T00:00:00Z')).toMatchObject({ exitCode: 0 });
  expect(await catchUp('backfill main')).toMatchObject({ exitCode: 0 });
  await fanOut();
  control.setStatus(first, 'moderated');
  let isAudited = false;
  const audited = catchUp('audit main --sample 1').finally(() => {
    isAudited = true;
  });
  while (!isAudited) {
    await fanOut();
    pass(1_000);
  }
  expect(await audited).toMatchObject({ exitCode: 0 });
  expect(await catchUp('backfill nobody')).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('Known: main'),
  });

  const disconnect = { action: 'disconnect', partnerAccount: name };
  expect(await invoke('connect', disconnect)).toEqual({ kind: 'disconnected', known: true });
  await connect(journey, control.issueRefreshToken(name));
  const begun = { kind: 'forgetting', generation: expect.any(Number) };
  const forgetting = await invoke('connect', { ...disconnect, forget: true });
  expect(forgetting).toEqual(begun);
  const { generation } = forgetting as { generation: number };
  expect(await invoke('connect', { ...disconnect, action: 'forget', generation })).toEqual({
    kind: 'forgotten',
  });
}

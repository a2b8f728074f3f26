/**
 * The deployed bridge without AWS: the handlers that Lambda runs, over dynalite, fauxqs and a few played services, with
 * the sandbox as the partner service. What Lambda itself does, schedule and event source mapping, is done here.
 */
import { SQSClient } from '@aws-sdk/client-sqs';
import type { Context, SQSBatchResponse } from 'aws-lambda';
import { type Sandbox, type SandboxOptions, startSandbox } from '../../../sandbox/server.ts';
import { secretNames } from '../../../shared/contract/names.ts';
import { startDynamo, startSqs } from './emulators.ts';
import { playServices } from './played-services.ts';
import { deleteHandled, receiveRecords } from './sqs-inbox.ts';
import { type Count, type OnCall, startWire } from './wire.ts';

export type Handler = (event: unknown, context: Context) => Promise<unknown>;
export type FunctionName = 'drain' | 'fan-out' | 'refresh-token' | 'connect';

export interface AwsOptions {
  readonly sandbox?: Omit<SandboxOptions, 'users'>;
  /** Partner accounts connected, each a user of the sandbox with a feed that begins now. Default 1. */
  readonly partnerAccounts?: number;
  /** Other than as deployed. */
  readonly settings?: object;
  /** Gives the functions their settings; called before the first one is loaded. */
  setEnvironment(variables: Readonly<Record<string, string>>): void;
  readonly loadHandler?: (name: FunctionName) => Promise<Handler>;
  /** Variables of the functions other than by default. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Told of each call to AWS. */
  readonly onCall?: OnCall;
}

export type PlayedAws = Awaited<ReturnType<typeof startAws>>;

export interface Invocations {
  readonly calls: Count;
  /** How long each invocation took, ms. */
  readonly durationsMs: readonly number[];
}

/** With names as long as Lambda's, because they are in every log line. */
const context = (functionName: string): Context =>
  ({
    awsRequestId: '6d68ca91-49c9-448d-89b8-7ca3e6dc66aa',
    functionName: `AdvertBridge-${functionName}Function4D2E8D4F-8aTzK1mQh2Xv`,
    invokedFunctionArn: `arn:aws:lambda:us-east-1:000000000000:function:AdvertBridge-${functionName}Function4D2E8D4F-8aTzK1mQh2Xv`,
    memoryLimitInMB: '256',
    // A mocked clock may be hours ahead in the end; what is left of an invocation is counted by the machine's.
    getRemainingTimeInMillis: () => 86_400_000,
  }) as Context;

const importHandler = async (name: FunctionName): Promise<Handler> =>
  (await import(`../../../functions/${name}/handler.ts`)).handler;

/** Starts everything; the partner accounts are connected as the command line does it, by the real function. */
export async function startAws(options: AwsOptions) {
  const { partnerAccounts = 1, loadHandler = importHandler } = options;
  const names = Array.from({ length: partnerAccounts }, (_, index) =>
    index === 0 ? 'main' : `account-${index}`,
  );
  const [dynamo, sqs, sandbox] = await Promise.all([
    startDynamo(),
    startSqs(),
    startSandbox({
      adverts: 0,
      visibilityDelayMs: 0,
      ...options.sandbox,
      users: names.map((name) => ({ name })),
    }),
  ]);
  const [feedState, advertStatus] = [await dynamo.feedStateTable(), await dynamo.advertStatusTable()];
  const queue = sqs.createQueue();
  const environment: Record<string, string> = {};
  const ask = async (name: FunctionName, event: unknown = {}) =>
    (await loadHandler(name))(event, context(name));
  const services = playServices(environment, (event) => ask('refresh-token', event));
  const wire = await startWire({
    dynamodb: dynamo.url,
    sqs: new URL(queue.url).origin,
    play: services.play,
    onCall: options.onCall,
  });
  const { clientId, clientSecret } = sandbox.application;
  services.setSecret(secretNames.application, JSON.stringify({ clientId, clientSecret }));
  const viaWire = (url: string) => wire.url + new URL(url).pathname;
  Object.assign(environment, {
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: '000000000000',
    AWS_SECRET_ACCESS_KEY: 'test',
    AWS_ENDPOINT_URL: wire.url,
    SETTINGS: JSON.stringify({
      ...{ partnerBaseUrl: sandbox.url, maxRequestsPerSecond: 10 },
      ...options.settings,
    }),
    NAME_PREFIX: 'advert-bridge',
    FEED_STATE_TABLE: feedState.name,
    ADVERT_STATUS_TABLE: advertStatus.name,
    EVENT_BUS_NAME: 'adverts',
    QUEUE_URL: viaWire(queue.url),
    REFRESH_TOKEN_FUNCTION: 'refresh-token',
    PARTNER_SECRET_POLICY: '{}',
    ...options.environment,
  });
  options.setEnvironment(environment);
  const since = new Date(Date.now() - 60_000).toISOString();
  for (const [index, partnerAccount] of names.entries()) {
    const refreshToken = sandbox.users[index]?.refreshToken;
    const connect = { action: 'connect', partnerAccount, refreshToken, since };
    const answer = await ask('connect', connect);
    if ((answer as { kind?: string }).kind !== 'connected') throw new Error(JSON.stringify(answer));
  }
  wire.take();

  const sqsClient = new SQSClient({
    endpoint: wire.url,
    region: 'us-east-1',
    credentials: { accessKeyId: '000000000000', secretAccessKey: 'test' },
  });
  const mapped = { client: sqsClient, url: viaWire(queue.url) };

  /** The functions that the work calls, and the duration of each invocation. */
  async function counted(work: (timed: Timed) => Promise<void>): Promise<Invocations> {
    const durationsMs: number[] = [];
    wire.take();
    await work(async (name, event) => {
      const handler = await loadHandler(name);
      const begun = performance.now();
      const result = await handler(event, context(name));
      durationsMs.push(performance.now() - begun);
      return result;
    });
    return { calls: wire.take(), durationsMs };
  }

  return {
    sandbox: sandbox as Sandbox,
    /** By their variables. */
    environment: environment as Readonly<Record<string, string>>,
    /** The answer of a function. */
    ask,
    published: services.published,
    /** One run of a function, as its schedule asks for it. */
    invoke: (name: FunctionName) => counted(async (invoke) => void (await invoke(name, {}))),
    /** Empties the queue as the event source mapping would, `atOnce` batches side by side. */
    fanOut: (atOnce = 1) =>
      counted(async (invoke) => {
        const worker = async () => {
          const receive = () => receiveRecords(mapped);
          for (let records = await receive(); records.length > 0; records = await receive()) {
            await deleteHandled(
              mapped,
              records,
              (await invoke('fan-out', { Records: records })) as SQSBatchResponse,
            );
          }
        };
        await Promise.all(Array.from({ length: atOnce }, worker));
      }),
    async stop() {
      sqsClient.destroy();
      await Promise.all([wire.stop(), dynamo.stop(), sqs.stop(), sandbox.close()]);
    },
  };
}

type Timed = (name: FunctionName, event: unknown) => Promise<unknown>;

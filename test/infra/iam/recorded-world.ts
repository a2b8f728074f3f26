/** Emulated services, which each function reaches through its own recording proxy. */
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { LambdaClient } from '@aws-sdk/client-lambda';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { SQSClient } from '@aws-sdk/client-sqs';
import type { Queue } from '../../../shared/aws/sqs.ts';
import type { Table } from '../../../shared/aws/store.ts';
import type { FunctionName } from '../../../shared/contract/environment.ts';
import { secretNames, stackName } from '../../../shared/contract/names.ts';
import { startDynamo, startSqs } from '../../helpers/aws/emulators.ts';
import { playServices } from '../../helpers/aws/played-services.ts';
import { type AwsCall, type Forward, startRecordingProxy } from '../../helpers/aws/recording-proxy.ts';
import { functions } from '../../helpers/synthesized.ts';
import { type IamRequest, requestsOf } from './aws-call.ts';
import type { RoleCall } from './decide.ts';
import { secretArn, stackArn, type TemplatePolicies } from './template-policies.ts';

/** `catchUp`: an operator at the command line. `harness`: the test itself, whose calls need no permission. */
export type Caller = FunctionName | 'catchUp' | 'harness';

export const busName = 'adverts';
export const refreshTokenFunction = 'refresh-token';
export const drainFunction = 'drain';

const options = {
  region: 'us-east-1',
  credentials: { accessKeyId: '000000000000', secretAccessKey: 'test' },
};

export type RecordedWorld = Awaited<ReturnType<typeof startRecordedWorld>>;

/** @param invoke what stands behind the refresh-token function */
export async function startRecordedWorld(invoke: (event: unknown) => Promise<unknown>) {
  const [dynamo, sqs] = await Promise.all([startDynamo(), startSqs()]);
  const services = playServices(invoke);
  const recorded: { readonly caller: Exclude<Caller, 'harness'>; readonly call: AwsCall }[] = [];
  /** Type and logical ID of each table and queue, by its name. */
  const kinds = new Map<string, readonly [string, string]>();

  /** What a command knows about the stack: its outputs, and the environment of the drain. */
  let deployed = { outputs: '', drain: '' };

  const serve = async ({ service, operation, input }: AwsCall, forward: Forward) => {
    if (service === 'dynamodb') return forward(dynamo.url);
    if (service === 'sqs') return forward(sqs.url);
    if (operation === 'DescribeStacks') return { status: 200, body: deployed.outputs };
    if (operation === 'GetFunctionConfiguration') return { status: 200, body: deployed.drain };
    const body = service === 'lambda' ? String(input.Payload) : JSON.stringify(input);
    return services.play(`${service} ${operation}`, body);
  };
  const callers: readonly Caller[] = [
    ...(Object.keys(functions) as FunctionName[]),
    ...(['catchUp', 'harness'] as const),
  ];
  const proxies = await Promise.all(
    callers.map(async (caller) => {
      const proxy = await startRecordingProxy((call, forward) => {
        if (caller !== 'harness') recorded.push({ caller, call });
        return serve(call, forward);
      });
      const at = { ...options, endpoint: proxy.url };
      const clients = {
        dynamoDb: new DynamoDBClient(at),
        sqs: new SQSClient(at),
        events: new EventBridgeClient(at),
        lambda: new LambdaClient(at),
        secrets: new SecretsManagerClient(at),
      };
      return [caller, { proxy, clients }] as const;
    }),
  );
  const of = Object.fromEntries(proxies) as Readonly<Record<Caller, (typeof proxies)[number][1]>>;

  async function table(kind: 'FeedState' | 'AdvertStatus') {
    const { name } = await (kind === 'FeedState' ? dynamo.feedStateTable() : dynamo.advertStatusTable());
    kinds.set(name, ['AWS::DynamoDB::Table', kind]);
    return { name, of: (caller: Caller): Table => ({ client: of[caller].clients.dynamoDb, name }) };
  }
  /** The harness's own way to it. */
  function queue(): Queue {
    const { url } = sqs.createQueue();
    kinds.set(url.split('/').at(-1) ?? '', ['AWS::SQS::Queue', 'ChangedAdvertsQueue']);
    return { client: of.harness.clients.sqs, url };
  }

  /** Where a request goes, by the name in the call. */
  function arnOf(policies: TemplatePolicies, { service, resource }: IamRequest): string {
    const named: Readonly<Record<string, readonly [type: string, id: string]>> = {
      [`secretsmanager ${secretNames.application}`]: [
        'AWS::SecretsManager::Secret',
        'RefreshTokenApplication',
      ],
      [`events ${busName}`]: ['AWS::Events::EventBus', 'EventsBus'],
      [`lambda ${refreshTokenFunction}`]: ['AWS::Lambda::Function', functions.refreshToken],
      [`lambda ${drainFunction}`]: ['AWS::Lambda::Function', functions.drain],
    };
    const found = named[`${service} ${resource}`] ?? kinds.get(resource.split('/').at(-1) ?? '');
    if (found) return policies.arnOf(...found);
    if (service === 'secretsmanager') return secretArn(resource);
    if (service === 'cloudformation') return stackArn(resource);
    throw new Error(`nothing here is called ${resource}`);
  }

  return {
    setSecret: services.setSecret,
    forgetSecrets: services.forgetSecrets,
    clients: (caller: Caller) => of[caller].clients,
    url: (caller: Caller) => of[caller].proxy.url,
    table,
    queue,
    /** Tells commands of the stack. */
    deploy(
      names: Readonly<Record<string, string>>,
      drainEnvironment: Readonly<Record<string, string>>,
    ): void {
      const members = Object.entries(names).map(
        ([key, value]) => `<member><OutputKey>${key}</OutputKey><OutputValue>${value}</OutputValue></member>`,
      );
      deployed = {
        outputs: `<DescribeStacksResponse><DescribeStacksResult><Stacks><member><StackName>${stackName}</StackName><StackStatus>CREATE_COMPLETE</StackStatus><Outputs>${members.join('')}</Outputs></member></Stacks></DescribeStacksResult></DescribeStacksResponse>`,
        drain: JSON.stringify({ Environment: { Variables: drainEnvironment } }),
      };
    },
    /** All calls recorded so far, as requests that IAM decides about. */
    calls: (policies: TemplatePolicies): RoleCall[] =>
      recorded.flatMap(({ caller, call }) => {
        const id = caller === 'catchUp' ? undefined : functions[caller];
        const role = id === undefined ? policies.catchUpRole : policies.roleOf(id);
        // What a call of a function's own code says of itself, for each grant that holds for that code alone.
        const own = id && { 'lambda:SourceFunctionArn': policies.arnOf('AWS::Lambda::Function', id) };
        return requestsOf(call).map((request) => ({
          ...{ role, action: request.action, resourceArn: arnOf(policies, request) },
          context: { ...request.context, ...own },
        }));
      }),
    async stop() {
      for (const { proxy, clients } of Object.values(of)) {
        for (const client of Object.values(clients)) client.destroy();
        await proxy.stop();
      }
      await Promise.all([dynamo.stop(), sqs.stop()]);
    },
  };
}

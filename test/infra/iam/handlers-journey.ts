/** The handlers that Lambda runs, from `connect` to `forget`, and what their calls ask of IAM. */
import type { SQSRecord } from 'aws-lambda';
import { expect } from 'vitest';
import { secretNames } from '../../../shared/contract/names.ts';
import type { FunctionName, PlayedAws } from '../../helpers/aws/played-aws.ts';
import type { AwsCall } from '../../helpers/aws/wire.ts';
import { functions } from '../../helpers/synthesized.ts';
import { type IamRequest, requestsOf } from './aws-call.ts';
import type { RoleCall } from './decide.ts';
import { secretArn, stackArn, type TemplatePolicies } from './template-policies.ts';

export interface Journey {
  readonly aws: PlayedAws;
  /** Lets time pass for the functions. */
  readonly pass: (ms: number) => void;
  /** Runs a command with the role for catching up. */
  readonly catchUp: (command: string) => Promise<{ readonly exitCode: number; readonly stderr: string }>;
}

/** A function by its folder, or an operator at the command line. */
export type Caller = FunctionName | 'catchUp';

const idOf: Readonly<Record<string, string>> = {
  drain: functions.drain,
  'fan-out': functions.fanOut,
  'refresh-token': functions.refreshToken,
  connect: functions.connect,
};

/** What IAM decides about. The test itself makes calls too, which need no permission. */
export function roleCallsOf(
  policies: TemplatePolicies,
  { environment }: PlayedAws,
  call: AwsCall,
): RoleCall[] {
  const id = idOf[call.caller];
  if (id === undefined && call.caller !== 'catchUp') return [];
  const role = id === undefined ? policies.catchUpRole : policies.roleOf(id);
  // What a call of a function's own code says of itself, for each grant that holds for that code alone.
  const own = id && { 'lambda:SourceFunctionArn': policies.arnOf('AWS::Lambda::Function', id) };
  const named: Readonly<Record<string, readonly [type: string, id: string]>> = {
    [`dynamodb ${environment.FEED_STATE_TABLE}`]: ['AWS::DynamoDB::Table', 'FeedState'],
    [`dynamodb ${environment.ADVERT_STATUS_TABLE}`]: ['AWS::DynamoDB::Table', 'AdvertStatus'],
    [`sqs ${environment.QUEUE_URL}`]: ['AWS::SQS::Queue', 'ChangedAdvertsQueue'],
    [`events ${environment.EVENT_BUS_NAME}`]: ['AWS::Events::EventBus', 'EventsBus'],
    [`events ${environment.CUSTOM_EVENT_BUS_ARN}`]: ['AWS::EventsV2::EventBus', 'CustomEventsBus'],
    [`secretsmanager ${secretNames.application}`]: ['AWS::SecretsManager::Secret', 'RefreshTokenApplication'],
    [`lambda ${environment.REFRESH_TOKEN_FUNCTION}`]: ['AWS::Lambda::Function', functions.refreshToken],
    'lambda drain': ['AWS::Lambda::Function', functions.drain],
  };
  const arnOf = ({ service, resource }: IamRequest): string => {
    const found = named[`${service} ${resource}`];
    if (found) return policies.arnOf(...found);
    if (service === 'secretsmanager') return secretArn(resource);
    if (service === 'cloudformation') return stackArn(resource);
    throw new Error(`nothing here is called ${resource}`);
  };
  return requestsOf(call).map((request) => ({
    ...{ role, action: request.action, resourceArn: arnOf(request) },
    context: { ...request.context, ...own },
  }));
}

const name = 'main';
const stray = {
  ...{ messageId: 'stray', receiptHandle: 'r', body: 'not ours' },
  attributes: { ApproximateReceiveCount: '1', SentTimestamp: String(Date.now()), SequenceNumber: '1' },
} as unknown as SQSRecord;
/** Longer than a function believes what it knows of an account or a token, and the drain the depth of the queue. */
const believedMs = 61 * 60_000;

async function connect({ ask, sandbox }: PlayedAws, refreshToken: string | undefined): Promise<void> {
  const request = { action: 'connect', partnerAccount: name, refreshToken, sameUser: false };
  expect(await ask('connect', request)).toMatchObject({ kind: 'connected' });
  expect(sandbox.control.users()).toHaveLength(1);
}

/** The life of one partner account. Each function gets the same input as from schedule, queue and command line. */
export async function travel({ aws, pass, catchUp }: Journey): Promise<void> {
  const { sandbox, ask, fanOut } = aws;
  const { control } = sandbox;

  const redirectUri = 'http://127.0.0.1:8765/callback';
  const authorize = { action: 'authorize', state: 'a-state-of-some-length', redirectUri };
  expect(await ask('connect', authorize)).toMatchObject({ kind: 'authorize' });
  expect(await ask('connect', { action: 'check' })).toMatchObject({ kind: 'accepted' });

  // Adverts: one published, one that cannot be fetched now, one that is not an ID, and a foreign message.
  const [first = '', second = ''] = control.createAdverts(2, { status: 'new' });
  control.listRaw('no-id');
  control.faults.add({ endpoint: 'advert', kind: 'status', status: 503, count: 9, advertId: second });
  expect(await ask('drain')).toMatchObject({ polls: [{ end: 'up-to-date', listed: 3 }] });
  expect(await ask('fan-out', { Records: [stray] })).toMatchObject({ batchItemFailures: [] });
  await fanOut();
  control.faults.clear();

  // Tokens that have run out, met by the fan-out and by the drain; nothing is left to do for the sweep.
  pass(believedMs);
  control.setStatus(first, 'active');
  expect(await ask('drain')).toMatchObject({ polls: [{ end: 'up-to-date' }] });
  control.expireAccessTokens();
  await fanOut();
  // The queue may keep back the message of the daily audit at first.
  await fanOut();
  await fanOut();
  pass(believedMs);
  control.expireAccessTokens();
  control.setStatus(first, 'limited');
  expect(await ask('drain')).toMatchObject({ polls: [{ end: 'up-to-date' }] });
  await fanOut();
  await fanOut();
  expect(await ask('refresh-token')).toBeUndefined();

  // The user takes the grant back, and gives it again. A token that has just been renewed is not renewed within 5 s.
  pass(believedMs);
  control.revoke(name);
  control.setStatus(first, 'sold');
  await ask('drain');
  await connect(aws, control.issueRefreshToken(name));
  pass(believedMs);
  expect(await ask('drain')).toMatchObject({ polls: [{ end: 'up-to-date' }] });
  await fanOut();

  // A person asks the feed now.
  const poll = { action: 'poll', partnerAccount: name };
  expect(await ask('drain', poll)).toMatchObject({
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
  expect(await ask('connect', disconnect)).toEqual({ kind: 'disconnected', known: true });
  await connect(aws, control.issueRefreshToken(name));
  const begun = { kind: 'forgetting', generation: expect.any(Number) };
  const forgetting = await ask('connect', { ...disconnect, forget: true });
  expect(forgetting).toEqual(begun);
  const { generation } = forgetting as { generation: number };
  expect(await ask('connect', { ...disconnect, action: 'forget', generation })).toEqual({
    kind: 'forgotten',
  });
}

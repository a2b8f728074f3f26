import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import {
  DeleteRuleCommand,
  EventBridgeClient,
  PutRuleCommand,
  PutTargetsCommand,
  RemoveTargetsCommand,
} from '@aws-sdk/client-eventbridge';
import {
  CreateQueueCommand,
  DeleteQueueCommand,
  ListQueuesCommand,
  ListQueueTagsCommand,
  ReceiveMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { afterAll, beforeEach, expect, it } from 'vitest';
import { outputs } from '../../../../../../shared/contract/names.ts';
import { mockClient } from '../../../../../helpers/aws/mock-client.ts';
import { describedStack } from '../../../../../helpers/aws/stack-outputs.ts';
import { stubAws } from '../../../../../helpers/aws/stub-aws.ts';
import { cli } from '../../run-cli.ts';

const cloudFormation = mockClient(CloudFormationClient);
const dynamoDb = mockClient(DynamoDBClient);
const sqs = mockClient(SQSClient);
const events = mockClient(EventBridgeClient);
const mocks = [cloudFormation, dynamoDb, sqs, events];
afterAll(() => {
  for (const mock of mocks) mock.restore();
});

const busArn = 'arn:aws:events:eu-central-1:111122223333:event-bus/adverts';
const queuesUrl = 'https://sqs.eu-central-1.amazonaws.com/111122223333';
const event = { source: 'advert-bridge', 'detail-type': 'AdvertStatusChanged', detail: { data: {} } };

beforeEach(() => {
  for (const mock of mocks) mock.reset();
  stubAws();
  const values = { [outputs.eventBusName]: 'adverts', [outputs.eventBusArn]: busArn };
  cloudFormation.on(DescribeStacksCommand).resolves({ Stacks: [describedStack(values)] });
  dynamoDb.onAnyCommand().resolves({});
  events.onAnyCommand().resolves({});
  sqs.onAnyCommand().resolves({});
  sqs.on(CreateQueueCommand).callsFake(async ({ QueueName }) => ({ QueueUrl: `${queuesUrl}/${QueueName}` }));
});

/** Ends the tail when the queue has been asked twice. */
function tail(args = 'tail') {
  const stopping = new AbortController();
  const Body = JSON.stringify({ version: '0', id: 'x', account: '1', region: 'r', ...event });
  let asked = 0;
  sqs.on(ReceiveMessageCommand).callsFake(async () => {
    asked += 1;
    if (asked === 2) stopping.abort();
    return asked === 1 ? { Messages: [{ Body, ReceiptHandle: 'h' }] } : {};
  });
  return cli(args, { signal: stopping.signal });
}

it('tail of a stack prints events and removes rule and queue at the end', async () => {
  const { exitCode, stdout } = await tail();

  expect({ exitCode, stdout }).toEqual({ exitCode: 0, stdout: `${JSON.stringify(event)}\n` });
  const [created] = sqs.commandCalls(CreateQueueCommand);
  const name = created?.args[0].input.QueueName ?? '';
  expect(name).toMatch(/^advert-bridge-tail-/);
  const rule = `arn:aws:events:eu-central-1:111122223333:rule/adverts/${name}`;
  const Condition = { ArnEquals: { 'aws:SourceArn': rule } };
  expect(JSON.parse(created?.args[0].input.Attributes?.Policy ?? '')).toMatchObject({
    Statement: [{ Principal: { Service: 'events.amazonaws.com' }, Condition }],
  });
  expect(events.commandCalls(PutRuleCommand)[0]?.args[0].input).toMatchObject({
    Name: name,
    EventBusName: 'adverts',
    EventPattern: '{"source":["advert-bridge"]}',
  });
  const [target] = events.commandCalls(PutTargetsCommand)[0]?.args[0].input.Targets ?? [];
  expect(target?.Arn).toBe(`arn:aws:sqs:eu-central-1:111122223333:${name}`);
  const names = events.calls().map(({ args: [command] }) => command.constructor.name);
  expect(names.slice(-2)).toEqual(['RemoveTargetsCommand', 'DeleteRuleCommand']);
  expect(sqs.commandCalls(DeleteQueueCommand)[0]?.args[0].input.QueueUrl).toBe(`${queuesUrl}/${name}`);
});

it('tail removes what it made when the rule cannot be made', async () => {
  const denied = Object.assign(new Error('not authorized to perform: events:PutRule'), {
    name: 'AccessDeniedException',
  });
  events.on(PutRuleCommand).rejects(denied);

  const { exitCode, stderr } = await tail();

  expect(exitCode).toBe(1);
  expect(stderr).toContain('events:PutRule');
  expect(sqs.commandCalls(DeleteQueueCommand)).toHaveLength(1);
});

it('tail removes leftovers of killed tails, nothing living or foreign', async () => {
  const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();
  const tagsOf: Record<string, Record<string, string>> = {
    killed: { 'advert-bridge:tail-bus': 'old-bus', 'advert-bridge:tail-alive-at': ago(11) },
    living: { 'advert-bridge:tail-bus': 'adverts', 'advert-bridge:tail-alive-at': ago(9) },
    foreign: { team: 'search' },
  };
  const urls = Object.keys(tagsOf).map((name) => `${queuesUrl}/advert-bridge-tail-${name}`);
  sqs.on(ListQueuesCommand).resolves({ QueueUrls: urls });
  sqs
    .on(ListQueueTagsCommand)
    .callsFake(async ({ QueueUrl }) => ({ Tags: tagsOf[QueueUrl.split('-').at(-1)] }));
  // Its rule was never made.
  events
    .on(RemoveTargetsCommand, { EventBusName: 'old-bus' })
    .rejects(Object.assign(new Error('no rule'), { name: 'ResourceNotFoundException' }));

  const { stderr } = await tail();

  expect(stderr).not.toContain('advert-bridge:');
  const deleted = sqs.commandCalls(DeleteQueueCommand).map(({ args }) => args[0].input.QueueUrl);
  expect(deleted).toHaveLength(2);
  expect(deleted[0]).toBe(urls[0]);
  expect(events.commandCalls(DeleteRuleCommand)[0]?.args[0].input).toEqual({
    Name: 'advert-bridge-tail-killed',
    EventBusName: 'old-bus',
  });
});

import { CloudFormationClient, DescribeStacksCommand, type Stack } from '@aws-sdk/client-cloudformation';
import { DynamoDBClient, GetItemCommand, QueryCommand } from '@aws-sdk/client-dynamodb';
import { PutSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { afterAll, beforeEach, expect, it } from 'vitest';
import { readStackOutputs } from '../../../../operators/operations/stack-outputs.ts';
import { outputs } from '../../../../shared/contract/names.ts';
import { mockClient } from '../../../helpers/aws/mock-client.ts';
import { describedStack } from '../../../helpers/aws/stack-outputs.ts';
import { stubAws } from '../../../helpers/aws/stub-aws.ts';
import { cli } from './run-cli.ts';

const cloudFormation = mockClient(CloudFormationClient);
const secrets = mockClient(SecretsManagerClient);
const tables = mockClient(DynamoDBClient);

/** The outputs of one bridge at `place` of a stack; each value is the output's name behind the bridge's. */
const bridgeAt = (place: string, bridge: string) =>
  Object.values(outputs).map((name) => ({
    OutputKey: `${place}${name}`,
    OutputValue: name === outputs.bridgeName ? bridge : `${bridge}.${name}`,
  }));
const stackOf = (name: string, Outputs: Stack['Outputs'] = []): Stack => ({
  ...{ StackName: name, StackStatus: 'UPDATE_COMPLETE', CreationTime: new Date() },
  Outputs: [...Outputs, { OutputKey: 'SiteUrl', OutputValue: 'https://shop.example' }],
});

const own = describedStack({ Version: '0.2.0', PartnerBaseUrl: 'https://partner.example' });
const shop = stackOf('Shop', [...bridgeAt('Adverts', 'Shop'), ...bridgeAt('Second', 'Second')]);
const single = stackOf('Search', bridgeAt('DeepBridge', 'Bridge'));
const all = [own, stackOf('Website'), shop, single];

beforeEach(() => {
  for (const mock of [cloudFormation, secrets, tables]) mock.reset();
  stubAws({});
  cloudFormation.on(DescribeStacksCommand).resolves({ Stacks: all });
  for (const stack of all) {
    cloudFormation.on(DescribeStacksCommand, { StackName: stack.StackName }).resolves({ Stacks: [stack] });
  }
});
afterAll(() => {
  for (const mock of [cloudFormation, secrets, tables]) mock.restore();
});

it('a missing stack is answered with the bridges that exist', async () => {
  const absent = Object.assign(new Error('Stack with id Nowhere does not exist'), {
    name: 'ValidationError',
  });
  cloudFormation.on(DescribeStacksCommand, { StackName: 'Nowhere' }).rejects(absent);
  cloudFormation
    .on(DescribeStacksCommand, { StackName: undefined })
    .resolvesOnce({ Stacks: [own, stackOf('Website')], NextToken: 'more' })
    .resolvesOnce({ Stacks: [shop, single] });

  const { exitCode, stdout, stderr } = await cli('status --stack Nowhere');

  expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
  expect(stderr).toContain('there is no stack Nowhere in region eu-central-1 of this AWS account. ');
  expect(stderr).toContain('The bridges there: AdvertBridge, Shop/Shop, Shop/Second, Search. ');
});

it('--stack finds the only bridge of a stack, wherever it stands in it', async () => {
  expect(await readStackOutputs(new CloudFormationClient(), 'Search')).toMatchObject({
    queueUrl: 'Bridge.QueueUrl',
  });
});

it('--stack finds the one that is named, of several', async () => {
  expect(await readStackOutputs(new CloudFormationClient(), 'Shop/Second')).toMatchObject({
    bridgeName: 'Second',
    feedStateTableName: 'Second.FeedStateTableName',
  });
});

it.each([
  ['Shop', 'stack Shop has the bridges Shop/Shop, Shop/Second: name one of them with --stack'],
  ['Shop/Third', 'stack Shop has the bridges Shop/Shop, Shop/Second: name one of them with --stack'],
  ['Website', 'stack Website (UPDATE_COMPLETE) has not the outputs of a bridge'],
])('--stack %s: says which there are', async (place, message) => {
  const ended = await cli(`status --stack ${place}`);

  expect(ended).toMatchObject({ exitCode: 1, stdout: '' });
  expect(ended.stderr).toContain(message);
});

it('--stack leads to the bridge’s own secrets, and hints name it', async () => {
  secrets.on(PutSecretValueCommand).resolves({});
  tables.on(GetItemCommand).resolves({}).on(QueryCommand).resolves({});

  const ended = await cli('application --stack Shop/Second --client-id a --client-secret-stdin', {
    stdin: 'hush',
  });

  expect(secrets.commandCalls(PutSecretValueCommand)[0]?.args[0].input.SecretId).toBe('Second/application');
  expect(ended.stderr).toContain('connect NAME --stack Shop/Second');
});

it.each(['Shop/', '/Second', 'a/b/c', 'a b'])('--stack refuses the place %j', async (place) => {
  const { exitCode, stderr } = await cli(['status', '--stack', place]);

  expect(exitCode).toBe(2);
  expect(stderr).toContain('--stack: expected the name of a CloudFormation stack');
});

import { describe, expect, it } from 'vitest';
import { storeKeys } from '../../shared/contract/tables.ts';
import { functions, inShort, synthesized } from '../helpers/synthesized.ts';

const { one, ofType } = synthesized();

describe.each([
  ['feed-state', 'FeedState'],
  ['advert-status', 'AdvertStatus'],
])('the %s table', (_name, id) => {
  const table = one('AWS::DynamoDB::Table', id);

  it('has the keys of the contract', () => {
    expect(table.Properties.KeySchema).toEqual([
      { AttributeName: storeKeys.partitionKey, KeyType: 'HASH' },
      { AttributeName: storeKeys.sortKey, KeyType: 'RANGE' },
    ]);
    expect(table.Properties.BillingMode).toBe('PAY_PER_REQUEST');
  });

  it('can be recovered, and outlives the stack', () => {
    expect(table.Properties.PointInTimeRecoverySpecification.PointInTimeRecoveryEnabled).toBe(true);
    expect(table.Properties.DeletionProtectionEnabled).toBe(true);
    expect(table).toMatchObject({ DeletionPolicy: 'Retain', UpdateReplacePolicy: 'Retain' });
    expect(table.Properties.TableName).toBeUndefined();
  });
});

describe('a table that is named in the settings', () => {
  const given = synthesized({ feedStateTable: 'restored-feeds', advertStatusTable: 'restored-adverts' });

  it('is taken in place of one that the stack makes', () => {
    expect(given.ofType('AWS::DynamoDB::Table')).toEqual([]);
    const outputs = given.template.toJSON().Outputs;
    expect(outputs.FeedStateTableName.Value).toBe('restored-feeds');
    expect(outputs.AdvertStatusTableName.Value).toBe('restored-adverts');
  });

  it('is what the functions use, and may use', () => {
    for (const prefix of [functions.drain, functions.fanOut, functions.refreshToken, functions.connect]) {
      const { Variables } = given.one('AWS::Lambda::Function', prefix).Properties.Environment;
      expect(Object.values(Variables)).toContain('restored-feeds');
    }
    const resources = given
      .ofType('AWS::IAM::Policy')
      .flatMap(([, { Properties }]) => Properties.PolicyDocument.Statement)
      .filter(({ Action }) => [Action].flat().some((action: string) => action.startsWith('dynamodb:')))
      .map(({ Resource }) => JSON.stringify(inShort(Resource)));
    expect(resources.length).toBeGreaterThan(10);
    for (const resource of resources) expect(resource).toMatch(/:table\/restored-(feeds|adverts)"$/);
  });
});

describe('the queue of changed adverts', () => {
  const queue = one('AWS::SQS::Queue', 'ChangedAdvertsQueue');
  const deadLetters = one('AWS::SQS::Queue', 'ChangedAdvertsDeadLetters');

  it('is FIFO, with the throughput limits of each advert instead of the queue', () => {
    expect(queue.Properties).toMatchObject({
      FifoQueue: true,
      DeduplicationScope: 'messageGroup',
      FifoThroughputLimit: 'perMessageGroupId',
    });
    expect(queue.Properties.ContentBasedDeduplication).toBeUndefined();
  });

  it('keeps messages as long as SQS can, and so do its dead letters', () => {
    const fourteenDays = 14 * 24 * 60 * 60;
    expect(queue.Properties.MessageRetentionPeriod).toBe(fourteenDays);
    expect(deadLetters.Properties.MessageRetentionPeriod).toBe(fourteenDays);
  });

  it('leaves dead-lettering to the fan-out, but for a far backstop', () => {
    expect(queue.Properties.RedrivePolicy).toEqual({
      deadLetterTargetArn: { 'Fn::GetAtt': [deadLetters.id, 'Arn'] },
      maxReceiveCount: 1000,
    });
    expect(deadLetters.Properties.FifoQueue).toBe(true);
    expect(queue.Properties.RedriveAllowPolicy).toEqual({ redrivePermission: 'denyAll' });
  });

  it('hides a message at least six times as long as the fan-out may run, and at most 200 times a day', () => {
    const { Timeout } = one('AWS::Lambda::Function', functions.fanOut).Properties;
    expect(queue.Properties.VisibilityTimeout).toBeGreaterThanOrEqual(6 * Timeout);
    expect(86_400 / queue.Properties.VisibilityTimeout).toBeLessThanOrEqual(200);
  });

  it('is encrypted, and talked to over TLS only', () => {
    for (const { Properties } of [queue, deadLetters]) expect(Properties.SqsManagedSseEnabled).toBe(true);
    const policies = ofType('AWS::SQS::QueuePolicy').map(([, { Properties }]) => Properties);
    expect(policies.flatMap(({ Queues }) => Queues)).toEqual([{ Ref: deadLetters.id }, { Ref: queue.id }]);
    for (const { PolicyDocument } of policies) {
      expect(PolicyDocument.Statement).toEqual([
        expect.objectContaining({
          Effect: 'Deny',
          Condition: { Bool: { 'aws:SecureTransport': 'false' } },
        }),
      ]);
    }
  });
});

describe("the application's secret", () => {
  const secret = one('AWS::SecretsManager::Secret');

  it('has the name of the contract and outlives the stack', () => {
    expect(secret.Properties.Name).toBe('advert-bridge/application');
    expect(secret).toMatchObject({ DeletionPolicy: 'Retain', UpdateReplacePolicy: 'Retain' });
  });

  it('is made without a value, so that no deploy puts one over the one filled in', () => {
    expect(Object.keys(secret.Properties)).not.toContain('SecretString');
    expect(Object.keys(secret.Properties)).not.toContain('GenerateSecretString');
  });
});

import { DynamoDBClient, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { aLambdaEvent, anAdvertHistory } from 'advert-bridge-kit/testing';
import { App } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { mockClient } from 'aws-sdk-client-mock';
import { expect, it, vi } from 'vitest';
import { MinimalStack } from '../stack.ts';

const app = new App({ context: { 'aws:cdk:bundling-stacks': [] } });
const template = Template.fromStack(new MinimalStack(app, 'Minimal', { busName: 'adverts' }));

it('logs each status change of an advert', async () => {
  vi.stubEnv('POSITIONS_TABLE_NAME', 'positions');
  vi.stubEnv('DEAD_LETTER_QUEUE_URL', 'https://sqs/dead-letters');
  mockClient(DynamoDBClient).on(UpdateItemCommand).resolves({ Attributes: {} });
  const log = vi.spyOn(console, 'log').mockImplementation(() => {});
  const { handler } = await import('../handler.ts');

  const answer = await handler(aLambdaEvent(anAdvertHistory(['new', 'sold', null], { advertId: '7' })));

  expect(answer).toEqual({ batchItemFailures: [] });
  expect(log.mock.calls.flat()).toEqual([
    'advert 7 is new, was null',
    'advert 7 is sold, was new',
    'advert 7 is gone',
  ]);
});

it('has a queue, a dead-letter queue, an alarm, a table and the function that reads the queue', () => {
  template.hasResourceProperties('AWS::Lambda::EventSourceMapping', {
    FunctionResponseTypes: ['ReportBatchItemFailures'],
  });
  template.resourceCountIs('AWS::SQS::Queue', 2);
  template.resourceCountIs('AWS::DynamoDB::Table', 1);
  template.resourceCountIs('AWS::CloudWatch::Alarm', 1);
});

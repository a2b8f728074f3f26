import { App } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { expect, it } from 'vitest';
import { SearchIndexStack } from '../stack.ts';

const app = new App({ context: { 'aws:cdk:bundling-stacks': [] } });
const template = Template.fromStack(new SearchIndexStack(app, 'SearchIndex', { busName: 'adverts' }));

it('reads the events of the bridge from its own queue in batches', () => {
  template.hasResourceProperties('AWS::Events::Rule', {
    EventBusName: 'adverts',
    EventPattern: { source: ['advert-bridge'], 'detail-type': ['AdvertStatusChanged', 'AdvertUnavailable'] },
  });
  template.hasResourceProperties('AWS::Lambda::EventSourceMapping', {
    FunctionResponseTypes: ['ReportBatchItemFailures'],
  });
  template.resourceCountIs('AWS::CloudWatch::Alarm', 1);
});

it('may write its table and read its queue, and nothing else', () => {
  const statements = Object.values(template.findResources('AWS::IAM::Policy')).flatMap(
    ({ Properties }) => Properties.PolicyDocument.Statement as { Action: string | string[] }[],
  );
  const actions = statements.flatMap(({ Action }) => Action);
  expect(actions.filter((action) => !action.startsWith('sqs:'))).toEqual(['dynamodb:UpdateItem']);
});

it('has a visibility timeout of six times the timeout of the function', () => {
  template.hasResourceProperties('AWS::Lambda::Function', { Timeout: 30 });
  template.hasResourceProperties('AWS::SQS::Queue', { VisibilityTimeout: 180 });
});

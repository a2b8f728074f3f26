/** Runs in a project that has only the tarball: README's subscription, synthesized, and its handler, called. */
import { DynamoDB } from '@aws-sdk/client-dynamodb';
import { envelopes } from 'advert-bridge-kit/contract';
import { aLambdaEvent, anAdvertHistory, latestStatuses, playEvents } from 'advert-bridge-kit/testing';
import { App } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { handler } from '../../docs/handle.ts';
import { SearchStack } from '../../docs/subscribe.ts';

Template.fromStack(new SearchStack(new App(), 'Search')).resourceCountIs('AWS::Events::Rule', 1);

const dynamodb = new DynamoDB({});
await dynamodb.createTable({
  TableName: 'search-positions',
  BillingMode: 'PAY_PER_REQUEST',
  AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
  KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
});
let status: string | undefined;
while (status !== 'ACTIVE') {
  const { Table: table } = await dynamodb.describeTable({ TableName: 'search-positions' });
  status = table?.TableStatus;
}

const printed: unknown[] = [];
console.log = (...words: unknown[]) => printed.push(words.join(' '));
const history = anAdvertHistory(['new', 'active', null], { advertId: '7' });
for (const batch of playEvents(history, { seed: 1, duplicates: 1 })) {
  const { batchItemFailures } = await handler(aLambdaEvent(batch));
  if (batchItemFailures.length > 0) throw new Error('the handler gave something back');
}
if (latestStatuses(history).get('main/7') !== null || printed.at(-1) !== '7 is gone') {
  throw new Error(`it ended at ${printed.at(-1)}`);
}
process.stdout.write(
  `${Object.keys(envelopes).join(' ')}; advert ${printed.at(-1)} after ${printed.length} events\n`,
);

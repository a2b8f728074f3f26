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
console.log = (line: unknown) => printed.push(line);
const history = anAdvertHistory(['new', 'active', 'sold'], { advertId: '7' });
for (const batch of playEvents(history, { seed: 1, duplicates: 1 })) {
  const { batchItemFailures } = await handler(aLambdaEvent(batch));
  if (batchItemFailures.length > 0) throw new Error('the handler gave something back');
}
const last = printed.at(-1) as { status: string };
if (last.status !== latestStatuses(history).get('main/7')) throw new Error(`it ended at ${last.status}`);
process.stdout.write(
  `${Object.keys(envelopes).join(' ')}; advert 7 is ${last.status} after ${printed.length} events\n`,
);

/** Grants that several functions need, each with the environment variable that names the resource. */
import type { ITable } from 'aws-cdk-lib/aws-dynamodb';
import type { IEventBus } from 'aws-cdk-lib/aws-events';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import type { BridgeFunction } from './bridge-function.ts';
import type { Grantee } from './grantee.ts';
import { grantReadPartnerSecrets } from './secrets.ts';

/** Partition key of each kind of item in the feed-state table (shared/contract/tables.ts). */
const itemKeys = {
  account: 'account',
  feed: 'feed',
  books: 'books',
  progress: 'progress',
  bridge: 'bridge',
  aside: 'aside',
} as const;
type ItemKind = keyof typeof itemKeys;
type TableAction = 'BatchWriteItem' | 'DeleteItem' | 'GetItem' | 'PutItem' | 'Query' | 'UpdateItem';

/**
 * Allows `user` the given actions for each kind of item, and nothing for other kinds. IAM refuses a call for items of
 * two kinds, because one statement must allow all of its items.
 */
export function grantFeedState(
  user: Grantee,
  table: ITable,
  actions: Readonly<Partial<Record<ItemKind, readonly TableAction[]>>>,
): void {
  user.addEnvironment('feedStateTable', table.tableName);
  for (const [kind, allowed] of Object.entries(actions)) {
    const key = itemKeys[kind as ItemKind];
    user.addStatement(`FeedState${kind[0]?.toUpperCase()}${kind.slice(1)}`, {
      actions: allowed.map((action) => `dynamodb:${action}`),
      resources: [table.tableArn],
      conditions: { 'ForAllValues:StringEquals': { 'dynamodb:LeadingKeys': [key] } },
    });
  }
}

export function grantAdvertStatus(user: Grantee, table: ITable, ...actions: readonly string[]): void {
  user.addEnvironment('advertStatusTable', table.tableName).addStatement('AdvertStatus', {
    actions: actions.map((action) => `dynamodb:${action}`),
    resources: [table.tableArn],
    conditions: { 'ForAllValues:StringEquals': { 'dynamodb:LeadingKeys': ['history'] } },
  });
}

export function grantChangedAdverts(user: Grantee, queue: IQueue, ...actions: readonly string[]): void {
  user.addEnvironment('queueUrl', queue.queueUrl).addStatement('ChangedAdverts', {
    actions: actions.map((action) => `sqs:${action}`),
    resources: [queue.queueArn],
  });
}

/** Every function takes slots from the bridge's single rate budget before it sends requests to the partner service. */
export const rateBudget = { bridge: ['GetItem', 'PutItem'] } as const;

export function grantDeadLetters(user: Grantee, queue: IQueue): void {
  user
    .addEnvironment('deadLetterQueueUrl', queue.queueUrl)
    .addStatement('DeadLetters', { actions: ['sqs:SendMessage'], resources: [queue.queueArn] });
}

export function grantPublish(user: BridgeFunction, bus: IEventBus): void {
  user
    // A name means a bus in the bridge's own AWS account. The ARN also finds an existing bus in another one.
    .addEnvironment('eventBusName', user.settings.bus ? bus.eventBusArn : bus.eventBusName)
    .addStatement('Events', { actions: ['events:PutEvents'], resources: [bus.eventBusArn] });
}

/** Reads the tokens of partner accounts, and invokes `refreshToken` to refresh expired ones. */
export function grantTokens(user: Grantee, refreshToken: BridgeFunction): void {
  const { functionArn, functionName } = refreshToken.lambda;
  grantReadPartnerSecrets(user);
  user
    .addEnvironment('refreshTokenFunction', functionName)
    .addStatement('RefreshToken', { actions: ['lambda:InvokeFunction'], resources: [functionArn] });
}

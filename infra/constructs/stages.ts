/**
 * The functions of the stages, each with exactly the grants that its calls use: test/infra/iam compares them. Every one may
 * also write its log (bridge-function.ts), and read and write the rate budget (`grantFeedState`).
 */
import { Duration, Lazy, Stack } from 'aws-cdk-lib';
import { Effect } from 'aws-cdk-lib/aws-iam';
import { EventSourceMapping, type IFunction } from 'aws-cdk-lib/aws-lambda';
import type { Construct } from 'constructs';
import { BridgeFunction } from './bridge-function.ts';
import { fanOutTimeout } from './changed-adverts.ts';
import type { Parts } from './grantee.ts';
import { reservedOf } from './props/resources.ts';
import { partnerSecretPolicy } from './secrets.ts';

/** Reads the feeds every minute, and puts changed adverts into the queue. */
export function drainStage(scope: Construct, parts: Parts, refreshToken: IFunction) {
  const stage = new BridgeFunction(scope, parts, {
    name: 'drain',
    description: 'Reads the change feed of every partner account and queues the adverts that changed',
    // A little longer than the interval: a run that polls several times, or has many pages to read, continues until the
    // next one begins. Two concurrent runs are safe, because each feed has a lease.
    timeout: Duration.seconds(90),
  });
  // EventBridge Scheduler's shortest interval. With `pollSeconds` below 60, one run polls several times.
  const schedule = stage.runEvery(Duration.minutes(1), 'Reads the change feeds');
  const isAuditing = parts.settings.auditSample > 0;
  stage
    .grantFeedState({
      account: ['GetItem', 'PutItem', 'Query'],
      feed: ['GetItem', 'PutItem', 'Query'],
      ...(isAuditing && { progress: ['GetItem', 'PutItem'] }),
      aside: ['DeleteItem', 'Query'],
      dead: ['GetItem', 'PutItem', 'Query'],
    })
    .addEnvironment('advertStatusTable', parts.advertStatus.tableName);
  if (isAuditing) stage.grantAdvertStatus('Query');
  stage.grantTokens(refreshToken).grantChangedAdverts('SendMessage', 'GetQueueAttributes');
  return { lambda: stage.lambda, schedule };
}

/** The maximum batch size for a FIFO queue. */
const batchSize = 10;
/**
 * A request that hangs delays its batch, so a second batch must be able to run at the same time. More would not help:
 * beyond the rate budget, batches wait inside functions, which costs money (docs/operate/capacity.md).
 */
const fewestAtOnce = 2;
/** A tenth of an AWS account's default concurrency, because other functions run there too. */
const maxAtOnce = 100;

export function fanOutStage(scope: Construct, parts: Parts, refreshToken: IFunction): BridgeFunction {
  const { settings, changedAdverts } = parts;
  const stage = new BridgeFunction(scope, parts, {
    name: 'fanOut',
    description: 'Fetches adverts that changed and publishes their statuses',
    timeout: fanOutTimeout,
  })
    .grantAdvertStatus('GetItem', 'PutItem')
    .grantFeedState({
      account: ['GetItem', 'PutItem'],
      feed: ['Query'],
      books: ['UpdateItem'],
      aside: ['PutItem'],
      dead: ['GetItem', 'PutItem'],
    })
    .grantTokens(refreshToken)
    .grantPublish('statusChanged', 'unavailable')
    .grantChangedAdverts('ReceiveMessage', 'DeleteMessage', 'GetQueueAttributes', 'ChangeMessageVisibility');
  // Enough if each batch takes a second; more batches would only wait for the rate budget.
  const needed = Math.max(Math.ceil(settings.maxRequestsPerSecond / batchSize), fewestAtOnce);
  // An Aspect may reserve concurrency later than here.
  const reserved = () => reservedOf(stage.lambda) ?? maxAtOnce;
  const mapping = new EventSourceMapping(stage, 'ChangedAdverts', {
    target: stage.lambda,
    eventSourceArn: changedAdverts.queue.queueArn,
    batchSize,
    reportBatchItemFailures: true,
    maxConcurrency: Lazy.uncachedNumber({ produce: () => Math.min(needed, reserved(), maxAtOnce) }),
  });
  const tooFew = `reservedConcurrency.fanOut: expected at least ${fewestAtOnce}, which is the least of SQS: an Aspect reserves fewer. Exempt`;
  stage.node.addValidation({
    validate: () => (reserved() < fewestAtOnce ? [`${tooFew} ${stage.lambda.node.path}`] : []),
  });
  // When Lambda creates the mapping, it checks that the function may receive from the queue.
  mapping.node.addDependency(stage.role);
  return stage;
}

/**
 * Shorter than the lease of the refresh lock (two minutes), so that the former owner of an expired lock is no longer
 * writing tokens.
 */
const lockedTimeout = Duration.minutes(1);

/** For its callers see docs/operate/security.md#who-may-call-which-function. */
export function refreshTokenStage(scope: Construct, parts: Parts) {
  const stage = new BridgeFunction(scope, parts, {
    name: 'refreshToken',
    description: 'Refreshes the tokens of partner accounts',
    timeout: lockedTimeout,
  });
  // Drain and fan-out request a refresh when they find a token expired; this schedule refreshes the others well before
  // their refresh tokens expire.
  const schedule = stage.runEvery(Duration.minutes(15), 'Refreshes tokens that have run out');
  stage
    .grantFeedState({ account: ['GetItem', 'PutItem', 'Query'] })
    .grantPartnerSecrets('Read', ['GetSecretValue'])
    .grantPartnerSecrets('Write', ['PutSecretValue'])
    .grantPublish('authorizationRequired', 'authorizationRestored');
  return { stage, schedule };
}

/**
 * Connects, disconnects and forgets partner accounts for the command line. It is a separate function, so that functions
 * that may invoke refresh-token may not invoke this one.
 */
export function connectStage(scope: Construct, parts: Parts): BridgeFunction {
  const { settings } = parts;
  const stage = new BridgeFunction(scope, parts, {
    name: 'connect',
    description: 'Connects, disconnects and forgets partner accounts, for the command line',
    timeout: lockedTimeout,
    readsTokens: false,
  });
  stage
    .grantFeedState({
      account: ['DeleteItem', 'GetItem', 'PutItem'],
      feed: ['DeleteItem', 'GetItem', 'PutItem', 'Query'],
      books: ['GetItem'],
      progress: ['Query'],
    })
    // To check by its published adverts whether a partner account still belongs to the same user.
    .grantAdvertStatus('GetItem')
    .grantPublish('authorizationRequired', 'authorizationRestored')
    .addEnvironment('partnerSecretPolicy', Stack.of(stage).toJsonString(partnerSecretPolicy(stage, parts)));
  if (settings.encryptionKey) stage.addEnvironment('partnerSecretKey', settings.encryptionKey.keyArn);
  // It sets the policies of these secrets, so it could allow itself to read them: this denial prevails.
  stage.addStatement('PartnerAccountSecretsNotRead', {
    effect: Effect.DENY,
    actions: ['secretsmanager:GetSecretValue', 'secretsmanager:BatchGetSecretValue'],
    resources: [stage.partnerSecrets],
  });
  // Nor may it delete one without its recovery window:
  // https://docs.aws.amazon.com/service-authorization/latest/reference/list_awssecretsmanager.html
  return stage
    .grantPartnerSecrets('Write', ['CreateSecret', 'TagResource', 'PutSecretValue', 'RestoreSecret'])
    .grantPartnerSecrets('Remove', ['DeleteSecret'], {
      BoolIfExists: { 'secretsmanager:ForceDeleteWithoutRecovery': 'false' },
    })
    .grantPartnerSecrets('Protect', ['PutResourcePolicy'], {
      Bool: { 'secretsmanager:BlockPublicPolicy': 'true' },
    });
}

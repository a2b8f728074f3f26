import { join } from 'node:path';
import { UpdateContinuousBackupsCommand } from '@aws-sdk/client-dynamodb';
import { CreateArchiveCommand } from '@aws-sdk/client-eventbridge';
import { SetQueueAttributesCommand } from '@aws-sdk/client-sqs';
import { startSandbox } from '../../sandbox/server.ts';
import { eventSource } from '../../shared/contract/names.ts';
import { chaosSteps } from './chaos/run.ts';
import { regionSteps, restoreSteps } from './drill/restore.ts';
import { drillSteps } from './drill/run.ts';
import { awsEnvironment, connectTo, repository, searchPath } from './emulator/cloud.ts';
import { logTails } from './emulator/logs.ts';
import { startMiniStack } from './emulator/ministack.ts';
import type { Options } from './emulator/options.ts';
import { awsCommandLine, ministack, pythonEnvironment } from './emulator/python.ts';
import type { Run } from './emulator/run.ts';
import { portConformance } from './ports/ports.ts';
import { advertBridgeOn } from './stack/advert-bridge.ts';
import { cdkOn } from './stack/cdk.ts';
import type { Deployment } from './stack/deployment.ts';
import { subscribe } from './stack/subscriber.ts';
import { connectSteps, disconnectSteps, statusSteps, tokenSteps } from './steps/accounts.ts';
import { authorizationSteps } from './steps/authorization.ts';
import { catchingUpSteps } from './steps/catching-up.ts';
import { constructSteps } from './steps/construct.ts';
import { deliverySteps } from './steps/delivery.ts';
import { deploySearchIndex, minimalSteps, searchIndexSteps } from './steps/examples.ts';
import { moveSteps } from './steps/move.ts';
import { deadLetterSteps, doctorSteps, tailSteps } from './steps/operate.ts';
import { destroySteps, secrecySteps, updateSteps } from './steps/stack.ts';

/**
 * Starts with nothing, deploys, delivers events to another team's queue, and destroys the stack.
 *
 * @throws {RunEndedError} when a step that all later steps depend on fails
 */
export async function journey(run: Run & { readonly options: Options }): Promise<void> {
  const { only: parts } = run.options;
  const { steps, say } = run;
  const deployment = await deploy(run);
  await connectSteps(deployment);
  if (parts.includes('journey')) {
    const searchIndex = await steps.need('another team deploys docs/examples/search-index', () =>
      deploySearchIndex(deployment),
    );
    await doctorSteps(deployment);
    await deliverySteps(deployment);
    await tailSteps(deployment);
    await tokenSteps(deployment);
    await statusSteps(deployment);
    await deadLetterSteps(deployment);
    await updateSteps(deployment);
    await authorizationSteps(deployment);
    await disconnectSteps(deployment);
    await catchingUpSteps(deployment);
    await searchIndexSteps(deployment, searchIndex);
    await minimalSteps(deployment);
  }
  if (parts.includes('construct')) await constructSteps(deployment);
  if (parts.includes('drill')) await drillSteps(deployment);
  if (parts.includes('chaos')) await chaosSteps(deployment);
  if (parts.includes('move')) await moveSteps(deployment);
  await secrecySteps(deployment);
  // Before the functions' log groups are deleted, and before the emulator's own log fills with thousands of calls of
  // the ports.
  if (steps.failed > 0) say(await logTails(deployment.emulator));
  if (parts.includes('ports')) {
    await steps.check('the ports on DynamoDB, SQS, EventBridge and Secrets Manager', () =>
      portConformance(deployment),
    );
  }
  let latest = deployment;
  if (parts.includes('restore')) {
    await regionSteps(deployment);
    latest = await restoreSteps(deployment);
  }
  await destroySteps(latest);
}

/** The emulator, the partner service, and the stack between them, with a subscriber of another team. */
async function deploy(run: Run & { readonly options: Options }): Promise<Deployment> {
  const { steps, say, processes, folder, closing } = run;
  const emulator = await steps.need('MiniStack and the AWS command line are there', async () => {
    await pythonEnvironment(awsCommandLine, join(repository, '.venv/awscli'), processes, say);
    const program = await pythonEnvironment(ministack, join(repository, '.venv/ministack'), processes, say);
    return startMiniStack(program, folder, searchPath, processes);
  });
  const cloud = connectTo(emulator.endpoint);
  closing.push(cloud.close);
  const env = awsEnvironment(emulator.endpoint, folder);
  // Changes are in the feed immediately; the simulation covers the visibility delay.
  const sandbox = await startSandbox({ visibilityDelayMs: 0 });
  closing.push(() => sandbox.close());
  const settings = {
    ...{ target: 'emulator', partnerBaseUrl: sandbox.url, maxRequestsPerSecond: '50' },
    ...{
      confirmUnavailableSeconds: '1',
      confirmUnchangedSeconds: '0',
      overlapSeconds: '10',
      auditSample: '50',
    },
  };
  const cdk = cdkOn(env, folder, processes);
  await steps.need('cdk bootstrap', () => cdk.bootstrap());
  const outputs = await steps.need('cdk deploy', () => cdk.deploy(settings));
  await steps.need('what the emulator leaves out is made', async () => {
    for (const TableName of [outputs.feedStateTableName, outputs.advertStatusTableName]) {
      const PointInTimeRecoverySpecification = { PointInTimeRecoveryEnabled: true };
      await cloud.dynamo.send(
        new UpdateContinuousBackupsCommand({ TableName, PointInTimeRecoverySpecification }),
      );
    }
    const EventPattern = JSON.stringify({ source: [eventSource] });
    const archive = { ArchiveName: 'adverts-archive', EventSourceArn: outputs.eventBusArn, EventPattern };
    await cloud.eventBridge.send(new CreateArchiveCommand(archive));
  });
  await steps.need('a batch whose worker dies comes back soon', async () => {
    // The stack's value is ten minutes, which on a busy machine would delay everything after the first lost worker.
    const Attributes = { VisibilityTimeout: '20' };
    await cloud.sqs.send(new SetQueueAttributesCommand({ QueueUrl: outputs.queueUrl, Attributes }));
  });
  const subscriber = await steps.need('another team puts a rule on the bus, with a queue of theirs', () =>
    subscribe(cloud, outputs.eventBusName),
  );
  const advertBridge = advertBridgeOn(env, processes);
  return { ...run, env, emulator, cloud, cdk, settings, outputs, advertBridge, sandbox, subscriber };
}

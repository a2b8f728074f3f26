import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SetQueueAttributesCommand } from '@aws-sdk/client-sqs';
import { commandsOf, pageOf } from './drill/page.ts';
import { regionSteps } from './drill/region.ts';
import { restoreSteps } from './drill/restore.ts';
import { drillSteps, shellOf } from './drill/run.ts';
import { repository } from './emulator/cloud.ts';
import { portConformance } from './ports/ports.ts';
import { advertBridgeOn } from './stack/advert-bridge.ts';
import { cdkOn } from './stack/cdk.ts';
import type { Deployment } from './stack/deployment.ts';
import { setWhatWasDropped } from './stack/emulator-gaps.ts';
import { deployMinimalSubscriber } from './stack/minimal-subscriber.ts';
import { recordCalls } from './stack/recorded-calls.ts';
import { deploySearchIndex } from './stack/search-index.ts';
import { subscribe } from './stack/subscriber.ts';
import { type Surroundings, startWorld } from './stack/surroundings.ts';
import { connectSteps, disconnectSteps, statusSteps, tokenSteps } from './steps/accounts.ts';
import { authorizeSteps } from './steps/authorize.ts';
import { catchingUpSteps, makeArchive } from './steps/catching-up.ts';
import { chaosSteps } from './steps/chaos.ts';
import { constructSteps } from './steps/construct.ts';
import { deliverySteps } from './steps/delivery.ts';
import { doctorSteps } from './steps/doctor.ts';
import { grantSteps } from './steps/grants.ts';
import { historySteps, tailSteps } from './steps/history.ts';
import { letterSteps } from './steps/letters.ts';
import { minimalSubscriberSteps } from './steps/minimal-subscriber.ts';
import { patternSteps } from './steps/patterns.ts';
import { searchIndexSteps } from './steps/search-index.ts';
import { secrecySteps } from './steps/secrecy.ts';
import { destroySteps, updateSteps } from './steps/stack.ts';

/**
 * Starts with nothing, deploys, delivers events to another team's queue, and destroys the stack.
 *
 * @throws {RunEndedError} when a step that all later steps depend on fails
 */
export async function journey(surroundings: Surroundings): Promise<void> {
  const { options, steps, say, processes, folder, closing, showLogs } = surroundings;
  const { emulator, cloud, env, sandbox, settings: common } = await startWorld(surroundings);
  const around = { env, processes, folder };
  const settings = {
    ...common,
    overlapSeconds: '10',
    auditSample: '50',
  };
  const cdk = cdkOn(env, folder, processes);
  await steps.need('cdk bootstrap', () => cdk.bootstrap());
  const outputs = await steps.need('cdk deploy', () => cdk.deploy(settings));
  await steps.need('what the emulator drops is set', async () => {
    for (const line of await setWhatWasDropped(cloud, await cdk.template())) say(line);
  });
  await steps.need('a batch whose worker dies comes back soon', async () => {
    // The stack's value is ten minutes, which on a busy machine would delay everything after the first lost worker.
    const Attributes = { VisibilityTimeout: '20' };
    await cloud.sqs.send(new SetQueueAttributesCommand({ QueueUrl: outputs.queueUrl, Attributes }));
  });
  const calls = await steps.need('every call of the functions is recorded from here on', async () => {
    const recording = await recordCalls(cloud, outputs, settings);
    closing.push(recording.stop);
    await recording.attach();
    return recording;
  });
  const subscriber = await steps.need('another team puts a rule on the bus, with a queue of theirs', () =>
    subscribe(cloud, outputs.eventBusName),
  );
  const isJourney = options.parts.includes('journey');
  const searchIndex = isJourney
    ? await steps.need('another team deploys examples/search-index beside it', () =>
        deploySearchIndex(cloud, outputs, env, folder, processes),
      )
    : undefined;
  const advertBridge = advertBridgeOn(env, processes);
  const deployment: Deployment = {
    ...{ steps, say, emulator, cloud, cdk, settings, outputs },
    ...{ advertBridge, sandbox, subscriber },
  };

  await makeArchive(deployment);
  await connectSteps(deployment);
  if (searchIndex) {
    await doctorSteps(deployment);
    await deliverySteps(deployment);
    await historySteps(deployment);
    await tailSteps(deployment, around);
    await tokenSteps(deployment);
    await statusSteps(deployment);
    await letterSteps(deployment, around);
    await grantSteps(deployment);
    await updateSteps(deployment);
    await calls.attach();
    await disconnectSteps(deployment);
    await authorizeSteps(deployment, { env, processes });
    await catchingUpSteps(deployment, async (values) => {
      const page = pageOf(await readFile(join(repository, 'docs/subscribe/catching-up.md'), 'utf8'));
      const { stdout } = await (await shellOf(deployment, around)).run(commandsOf(page, 'replay', values));
      return stdout;
    });
    await searchIndexSteps(deployment, searchIndex);
    const minimal = await steps.need('a third team deploys examples/minimal', () =>
      deployMinimalSubscriber(cloud, outputs, env, folder, processes),
    );
    await minimalSubscriberSteps(deployment, minimal);
    await patternSteps(deployment);
  }
  if (options.parts.includes('construct')) await constructSteps(deployment, { ...around, closing });
  if (options.parts.includes('drill')) {
    await drillSteps(deployment, around);
    await calls.attach();
  }
  if (options.parts.includes('chaos')) await chaosSteps(deployment, options);
  await secrecySteps(deployment);
  if (isJourney) {
    await steps.check('the grants allow every call that the functions made', async () =>
      say(await calls.check()),
    );
  }
  // Before the functions' log groups are deleted, and before the emulator's own log fills with thousands of calls of
  // the ports.
  await showLogs();
  if (options.parts.includes('ports')) {
    await steps.count('the ports on DynamoDB, SQS, EventBridge and Secrets Manager', () =>
      portConformance(env, folder, processes, say),
    );
  }
  let latest = deployment;
  if (options.parts.includes('restore')) {
    await regionSteps(deployment, around);
    latest = await restoreSteps(deployment, around);
  }
  await destroySteps(latest);
}

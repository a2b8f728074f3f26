import assert from 'node:assert/strict';
import { join } from 'node:path';
import { GetFunctionConfigurationCommand } from '@aws-sdk/client-lambda';
import { SetQueueAttributesCommand } from '@aws-sdk/client-sqs';
import { seededRandom } from '../../../sandbox/state/random.ts';
import { createWeather } from '../../chaos/weather.ts';
import { releases } from '../../released/releases.ts';
import { type Traffic, waitingMessages } from '../chaos/scene.ts';
import { settle } from '../chaos/settle.ts';
import { checkBooks, checkReceived, type Verdict } from '../chaos/verdict.ts';
import { advertBridgeOn } from '../stack/advert-bridge.ts';
import { cdkOn, type Outputs } from '../stack/cdk.ts';
import { setWhatWasDropped } from '../stack/emulator-gaps.ts';
import { subscribe } from '../stack/subscriber.ts';
import { type Surroundings, startWorld } from '../stack/surroundings.ts';
import { sourcesOf } from './sources.ts';
import { startTraffic } from './traffic.ts';

const names = ['anna', 'bert', 'cleo'] as const;
/**
 * Changes made immediately before each deployment, so that it finds messages in flight: 200 fetches take at least 4
 * s.
 */
const burst = 200;

/**
 * Deploys the last release, upgrades it to these sources while adverts change, and downgrades it again; then checks
 * that every history is correct.
 *
 * @throws {RunEndedError} when a step that all later steps depend on fails
 */
export async function upgrade(surroundings: Surroundings): Promise<void> {
  const { options, steps, say, processes, folder } = surroundings;
  const users = names.map((name) => ({ name, adverts: 30, refreshToken: `sandbox-refresh-token-${name}` }));
  const { emulator, cloud, env, sandbox, settings } = await startWorld(surroundings, users);
  const release = releases.at(-1);
  assert(release, 'there is a release');
  const { version } = release;

  const sources = await steps.need(`the sources of release ${version}`, () =>
    sourcesOf(release, join(folder, 'released'), processes),
  );
  const [then, now] = [sources, undefined].map((from) => ({
    cdk: cdkOn(env, folder, processes, from),
    advertBridge: advertBridgeOn(env, processes, from),
  })) as [Version, Version];
  await steps.need('cdk bootstrap', () => now.cdk.bootstrap());
  const outputs = await steps.need(`cdk deploy of ${version}`, () => then.cdk.deploy(settings));
  const { queueUrl } = outputs;
  await steps.need('what the emulator drops is set', async () => {
    await setWhatWasDropped(cloud, await then.cdk.template());
    const Attributes = { VisibilityTimeout: '20' };
    await cloud.sqs.send(new SetQueueAttributesCommand({ QueueUrl: queueUrl, Attributes }));
  });
  const subscriber = await subscribe(cloud, outputs.eventBusName);
  await steps.need(
    `advert-bridge connect of ${version} connects ${names.length} partner accounts`,
    async () => {
      const { clientId, clientSecret } = sandbox.application;
      const args = ['application', '--client-id', clientId, '--client-secret-stdin'];
      await then.advertBridge.run(args, `${clientSecret}\n`);
      for (const { name, refreshToken } of users)
        await then.advertBridge.run(['connect', name, '--refresh-token-stdin'], refreshToken);
    },
  );

  const deployment = { steps, say, emulator, cloud, settings, outputs, sandbox, subscriber, ...now };
  const scene: Traffic = {
    ...{ deployment, accounts: names, queueUrl },
    functionNames: {
      drain: outputs.drainFunctionName,
      fanOut: outputs.fanOutFunctionName,
      refreshToken: outputs.refreshTokenFunctionName,
    },
    weather: createWeather({ control: sandbox.control, users }, seededRandom(options.seed)),
  };
  say(`upgrade: seed ${options.seed}`);
  const traffic = startTraffic(scene);
  surroundings.closing.push(() => traffic.stop());
  const codeOf = async () => {
    const { fanOutFunctionName: FunctionName } = outputs;
    return (await cloud.lambda.send(new GetFunctionConfigurationCommand({ FunctionName }))).CodeSha256;
  };

  /**
   * Deploys over a busy bridge: its tokens have just expired, its queue is full, and messages of one account are
   * parked.
   */
  async function deployOver(from: Version, to: Version, paused: string): Promise<void> {
    await from.advertBridge.run(['pause', paused, '--reason', 'upgrade'], undefined, [0, 3]);
    sandbox.control.expireAccessTokens();
    for (let made = 0; made < burst; made += 1) scene.weather.change();
    await traffic.drained();
    const inFlight = await waitingMessages(scene);
    assert(inFlight > 0, 'no message is in flight');
    const [before, code] = [traffic.figures(), await codeOf()];
    assert.deepEqual(
      placesIn(await to.cdk.deploy(settings)),
      placesIn(outputs),
      'something has another name',
    );
    assert.notEqual(await codeOf(), code, 'the code of fan-out is the same');
    const { changes, drains } = traffic.figures();
    say(
      `${inFlight} messages were in flight; ${changes - before.changes} changes and ${drains - before.drains} polls meanwhile`,
    );
    await to.advertBridge.run(['resume', paused], undefined, [0, 3]);
  }

  const released = await codeOf();
  await steps.need(`cdk deploy of these sources over ${version}, under traffic`, () =>
    deployOver(then, now, 'bert'),
  );
  await steps.need(`cdk deploy of ${version} over these sources, under traffic`, () =>
    deployOver(now, then, 'cleo'),
  );
  await steps.check('afterwards every feed is read to its end and the queue is empty', async () => {
    assert.equal(await codeOf(), released, 'the code is not that of the release');
    await traffic.stop();
    await settle(scene);
    say(`${traffic.figures().failures} polls failed while functions were replaced`);
  });
  const judge = ({ faults, summary }: Verdict): void => {
    say(summary);
    assert.deepEqual(faults.slice(0, 5), [], `${faults.length} faults, with --seed ${options.seed}`);
  };
  await steps.check('every history is right: nothing lost, in order, no number left out', async () =>
    judge(checkReceived(scene)),
  );
  await steps.check('tokens and cursors are kept, the books balance, nothing is dead-lettered', async () => {
    const status = await then.advertBridge.status();
    judge(await checkBooks(scene, status));
    assert.equal(status.queue.deadLetters, 0);
  });
}

/** The outputs with names that subscribers and scripts use. */
const placesIn = ({
  eventBusArn,
  queueUrl,
  deadLetterQueueUrl,
  feedStateTableName,
  advertStatusTableName,
  drainFunctionName,
  fanOutFunctionName,
  refreshTokenFunctionName,
  connectFunctionName,
  catchUpRoleArn,
}: Outputs) => ({
  ...{ eventBusArn, queueUrl, deadLetterQueueUrl, feedStateTableName, advertStatusTableName },
  ...{ drainFunctionName, fanOutFunctionName, refreshTokenFunctionName, connectFunctionName, catchUpRoleArn },
});

interface Version {
  readonly cdk: ReturnType<typeof cdkOn>;
  readonly advertBridge: ReturnType<typeof advertBridgeOn>;
}

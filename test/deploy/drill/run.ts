import assert from 'node:assert/strict';
import { connectUser, type Deployment, settled, silenceMs } from '../stack/deployment.ts';
import { drain } from '../stack/functions.ts';
import { shellOf } from '../stack/shell.ts';
import { stuckFeed, withdrawnAuthorization, wrongClientSecret } from './accounts.ts';
import { deadLetters, staleAnswer } from './adverts.ts';
import { alarmsOf, startMeter } from './alarms.ts';
import { blockedAddress, longPause, pause, scheduleOff, serviceDown } from './feeds.ts';
import { brokenFanOut, changedVariable, concurrencyTaken, mappingOff } from './functions.ts';
import { type Exercise, play } from './scene.ts';

const exercises: readonly Exercise[] = [
  ...[deadLetters, serviceDown, scheduleOff, longPause, blockedAddress],
  ...[withdrawnAuthorization, wrongClientSecret, stuckFeed, mappingOff, pause],
  ...[staleAnswer, brokenFanOut, concurrencyTaken, changedVariable],
];

/** Alarms and headings of the runbook without an exercise, with the reason. */
const leftOut: Readonly<Record<string, string>> = {
  'DeadLetters-New': 'provoked and ended by the exercise of DeadLetters',
  'DeadLetters-Queue': 'a message would have to be received 1,000 times',
  LateEvents:
    'the metric alone is shown in a unit test of fan-out: it goes off after three periods of five minutes',
  'An event did not come':
    'it changes nothing, and no alarm leads to it; AuditDifferences follows its command',
  Faults: 'a table, which a unit test compares with the faults that there are',
};

/** Triggers each alarm, evaluates it by its own definition, and ends it with the exact commands of the runbook. */
export async function drillSteps(deployment: Deployment): Promise<void> {
  const { steps, cloud, outputs, subscriber, advertBridge, sandbox } = deployment;
  const account = 'drill';
  const shell = await shellOf(deployment, 'docs/operate/runbook.md');
  const scene = {
    ...{ deployment, account, follow: shell.follow, write: shell.write },
    meter: await startMeter(deployment),
    alarms: await alarmsOf(deployment),
    adverts: await connectUser(deployment, account, 8),
  };
  for (const exercise of exercises) {
    await steps.check(`drill: ${exercise.alarm}, ${exercise.provokedBy}`, () =>
      play(scene, exercise).finally(() => sandbox.control.faults.clear()),
    );
  }
  await steps.check('drill: nothing of it is on its way any more', async () => {
    await drain(cloud, outputs.drainFunctionName);
    await settled(advertBridge);
    await subscriber.readUntil(() => false, silenceMs);
  });
  await steps.check('drill: every alarm and command of the runbook was tried, or is left out', async () => {
    const drilled = new Set([...exercises.map(({ alarm }) => alarm), ...Object.keys(leftOut)]);
    const anchors = new Set([...drilled].map((name) => scene.alarms.get(name)?.anchor));
    const lacking = [
      ...[...scene.alarms.keys()].filter((name) => !drilled.has(name)),
      ...shell.headings.filter((name) => !drilled.has(name) && !anchors.has(name.toLowerCase())),
    ];
    assert.deepEqual(lacking, [], 'alarms and headings without a drill');
    const untried = [...shell.blocks.keys()].filter((name) => !shell.followed.has(name));
    assert.deepEqual(untried, [], 'commands nobody tried');
  });
}

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { repository } from '../emulator/cloud.ts';
import { awsCommandLine, pythonEnvironment } from '../emulator/python.ts';
import type { Deployment } from '../stack/deployment.ts';
import { drain } from '../stack/functions.ts';
import { silenceMs } from '../steps/delivery.ts';
import { stuckFeed, withdrawnAuthorization, wrongClientSecret } from './accounts.ts';
import { staleAnswer } from './audit.ts';
import { deadLetters } from './dead-letters.ts';
import { concurrencyTaken, mappingOff } from './fan-out.ts';
import { blockedAddress, longPause, pause, scheduleOff, serviceDown } from './feeds.ts';
import { brokenFanOut, changedVariable } from './function-errors.ts';
import { settled } from './held.ts';
import { alarmsOf, Meter } from './meter.ts';
import { type Around, type Exercise, play, type Row, type Scene, setScene } from './scene.ts';
import { openShell, type Shell } from './shell.ts';

const exercises: readonly Exercise[] = [
  deadLetters,
  serviceDown,
  scheduleOff,
  longPause,
  blockedAddress,
  withdrawnAuthorization,
  wrongClientSecret,
  stuckFeed,
  mappingOff,
  pause,
  staleAnswer,
  brokenFanOut,
  concurrencyTaken,
  changedVariable,
];

/** Alarms and headings of the runbook without an exercise, with the reason. */
const leftOut: Readonly<Record<string, string>> = {
  'DeadLetters-New': 'provoked and ended by the exercise of DeadLetters',
  'DeadLetters-Queue': 'a message would have to be received 1,000 times',
  LateEvents:
    'the metric alone is shown in a unit test of fan-out: it goes off after three periods of five minutes',
  'An event did not come':
    'it changes nothing, and no alarm leads to it; its command is followed for AuditDifferences, and in the journey of this test',
  Faults: 'a table, which a unit test compares with the faults that there are',
};

/** Triggers each alarm, evaluates it by its own definition, and ends it with the exact commands of the runbook. */
export async function drillSteps(deployment: Deployment, around: Around, account = 'drill'): Promise<void> {
  const { steps, say } = deployment;
  const scene = await steps.need('drill: a partner account, the AWS command line, the alarms', () =>
    sceneOf(deployment, around, account),
  );
  const rows: Row[] = [];
  for (const exercise of exercises) {
    await steps.check(`drill: ${exercise.alarm}, ${exercise.provokedBy}`, async () => {
      try {
        rows.push(await play(scene, exercise));
      } finally {
        deployment.sandbox.control.faults.clear();
        await exercise.cleanUp?.();
      }
    });
  }
  await steps.check('drill: nothing of it is on its way any more', async () => {
    const { cloud, outputs, subscriber, advertBridge } = deployment;
    await drain(cloud, outputs.drainFunctionName);
    await settled(advertBridge);
    await subscriber.readUntil(() => false, silenceMs);
  });
  for (const [alarm, reason] of Object.entries(leftOut)) {
    rows.push({ alarm, provokedBy: 'not provoked', seen: reason, mendedBy: '', seconds: 0 });
  }
  say(tableOf(rows));
  await steps.check(
    'drill: every alarm and every command of the runbook was tried, or is left out for a reason',
    async () => {
      const { page, alarms, followed } = scene;
      const drilled = new Set([...exercises.map(({ alarm }) => alarm), ...Object.keys(leftOut)]);
      const anchors = new Set([...drilled].map((name) => alarms.get(name)?.anchor));
      const lacking = [
        ...[...alarms.keys()].filter((name) => !drilled.has(name)),
        ...page.headings.filter((name) => !drilled.has(name) && !anchors.has(name.toLowerCase())),
      ];
      assert.deepEqual(lacking, [], 'alarms and headings without a drill');
      const untried = page.blocks.filter(({ name }) => !followed.has(name)).map(({ name }) => name);
      assert.deepEqual(untried, [], 'commands nobody tried');
    },
  );
}

/** Installs the AWS command line if necessary. */
export async function shellOf(
  { say }: Pick<Deployment, 'say'>,
  { env, processes, folder }: Around,
  npx?: string,
): Promise<Shell> {
  const aws = await pythonEnvironment(awsCommandLine, join(repository, '.venv', 'awscli'), processes, say);
  return openShell(folder, env, processes, aws, npx);
}

async function sceneOf(deployment: Deployment, around: Around, account: string): Promise<Scene> {
  const { cloud, emulator, sandbox, advertBridge } = deployment;
  const refreshToken = `sandbox-refresh-token-${account}`;
  sandbox.control.addUser(account, { adverts: 8, refreshToken });
  await advertBridge.run(['connect', account, '--refresh-token-stdin'], refreshToken);
  return setScene({
    deployment,
    around,
    shell: await shellOf(deployment, around),
    meter: new Meter(cloud, emulator.logFile),
    alarms: await alarmsOf(cloud, deployment.settings),
    account,
    adverts: sandbox.control.truth(account).map(({ id }) => id),
  });
}

/** The drill's result for a person, as a Markdown table. */
function tableOf(rows: readonly Row[]): string {
  const lines = rows.map(({ alarm, provokedBy, seen, mendedBy, seconds }) =>
    [alarm, provokedBy, seen, mendedBy, String(seconds)].join(' | '),
  );
  return [
    '| alarm | provoked by | seen | mended by | seconds |',
    '|---|---|---|---|---|',
    ...lines.map((line) => `| ${line} |`),
  ].join('\n');
}

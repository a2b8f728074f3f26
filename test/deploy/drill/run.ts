import assert from 'node:assert/strict';
import { join } from 'node:path';
import { repository } from '../emulator/cloud.ts';
import type { Processes } from '../emulator/processes.ts';
import { awsCommandLine, pythonEnvironment } from '../emulator/python.ts';
import type { Deployment } from '../stack/deployment.ts';
import { stuckFeed, withdrawnAuthorization, wrongClientSecret } from './accounts.ts';
import { deadLetters } from './dead-letters.ts';
import { mappingOff } from './fan-out.ts';
import { blockedAddress, longPause, pause, scheduleOff, serviceDown } from './feeds.ts';
import { alarmsOf, Meter } from './meter.ts';
import { type Exercise, play, type Row, type Scene, setScene } from './scene.ts';
import { openShell, type Shell } from './shell.ts';
import { tableOf } from './table.ts';

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
];

const auditUntried =
  'the function runs in the journey of this test, and test/unit/functions/audit has a planted difference; over the emulator there is no exercise yet';

const crashes = 'takes an hour of failures; the chaos of this test has crashes, test/infra the definition';
const historyReads = 'it changes nothing, and no alarm leads to it; the journey of this test follows it';

/** Alarms and headings of the runbook without an exercise, and why. */
const leftOut: Readonly<Record<string, string>> = {
  AuditDifferences: auditUntried,
  'FunctionErrors-FanOut': crashes,
  'FunctionErrors-Throttled': crashes,
  'FunctionErrors-RefreshToken': crashes,
  'FunctionErrors-Audit': crashes,
  'An event did not come': historyReads,
  Faults: 'a table, which a unit test compares with the faults that there are',
};

/** Blocks of the runbook that the drill does not follow, and why. */
const blocksLeftOut: Readonly<Record<string, string>> = {
  history: historyReads,
  audit: auditUntried,
  'audit-repair': auditUntried,
};

export interface Around {
  readonly env: Record<string, string>;
  readonly processes: Processes;
  readonly folder: string;
}

/** Each alarm is set off, seen by its own definition, and ended by what the runbook says, word for word. */
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
      }
    });
  }
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
      const tried = new Set([...followed, ...Object.keys(blocksLeftOut)]);
      assert.deepEqual(
        page.blocks.filter(({ name }) => !tried.has(name)).map(({ name }) => name),
        [],
        'commands nobody tried',
      );
      for (const [name, reason] of Object.entries(blocksLeftOut)) say(`not followed: ${name}: ${reason}`);
    },
  );
}

/** Installs the AWS command line where it is not yet. */
export async function shellOf(
  { say }: Pick<Deployment, 'say'>,
  { env, processes, folder }: Around,
): Promise<Shell> {
  const aws = await pythonEnvironment(awsCommandLine, join(repository, '.venv', 'awscli'), processes, say);
  return openShell(folder, env, processes, aws);
}

async function sceneOf(deployment: Deployment, around: Around, account: string): Promise<Scene> {
  const { cloud, sandbox, advertBridge } = deployment;
  const refreshToken = `sandbox-refresh-token-${account}`;
  sandbox.control.addUser(account, { adverts: 8, refreshToken });
  await advertBridge.run(['connect', account, '--refresh-token-stdin'], refreshToken);
  return setScene({
    deployment,
    shell: await shellOf(deployment, around),
    meter: new Meter(cloud),
    alarms: await alarmsOf(cloud, deployment.settings),
    account,
    adverts: sandbox.control.truth(account).map(({ id }) => id),
  });
}

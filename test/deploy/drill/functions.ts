import assert from 'node:assert/strict';
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  GetFunctionConfigurationCommand,
  ListEventSourceMappingsCommand,
  PutFunctionConcurrencyCommand,
  UpdateEventSourceMappingCommand,
  UpdateFunctionConfigurationCommand,
} from '@aws-sdk/client-lambda';
import { resourceKeys } from '../../../shared/contract/environment.ts';
import { repository } from '../emulator/cloud.ts';
import { cdkOn } from '../stack/cdk.ts';
import { onItsWayMs } from '../stack/deployment.ts';
import { drain, invoke } from '../stack/functions.ts';
import { type Exercise, expectPublished, runDrain, type Scene } from './scene.ts';

/** The hour that the alarms about errors evaluate becomes a quarter of a minute. */
const factor = 240;

/** Changes the next advert of the partner account and invokes the drain, once in each period of these alarms. */
function changesInTurn(): (scene: Scene) => Promise<void> {
  let latestMs = 0;
  let count = 0;
  return async (scene) => {
    if (Date.now() - latestMs < (5 * 60_000) / factor) return;
    latestMs = Date.now();
    const { control } = scene.deployment.sandbox;
    const id = scene.adverts[count % scene.adverts.length] ?? '';
    count += 1;
    control.setStatus(id, control.advert(id)?.status === 'active' ? 'limited' : 'active');
    await runDrain(scene);
  };
}

export const mappingOff: Exercise = {
  alarm: 'NeedsAttention-Backlog',
  provokedBy: "somebody disabled fan-out's event source mapping, and an advert changed",
  factor: 600,

  async provoke({ deployment: { cloud, outputs, sandbox }, adverts }) {
    const { EventSourceMappings: [mapping] = [] } = await cloud.lambda.send(
      new ListEventSourceMappingsCommand({ FunctionName: outputs.fanOutFunctionName }),
    );
    await cloud.lambda.send(new UpdateEventSourceMappingCommand({ UUID: mapping?.UUID, Enabled: false }));
    sandbox.control.setStatus(adverts[5] ?? '', 'limited');
    await drain(cloud, outputs.drainFunctionName);
  },

  async mend(scene) {
    const { outputs, subscriber } = scene.deployment;
    const before = subscriber.received.length;
    const mappings = await scene.follow('mapping', { FAN_OUT_FUNCTION_NAME: outputs.fanOutFunctionName });
    const uuid = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/.exec(mappings)?.[0] ?? '';
    assert.match(mappings, /Disabled/);
    for (const text of [await scene.follow('status'), await scene.follow('doctor', {}, [0, 1, 3])])
      assert.ok(text.includes(`update-event-source-mapping --uuid ${uuid} --enabled`), text);
    await scene.follow('enable-mapping', { UUID: uuid });
    assert.ok(await subscriber.readUntil(({ length }) => length > before, onItsWayMs), 'the event comes');
  },
};

export const concurrencyTaken: Exercise = {
  alarm: 'FunctionErrors-Throttled',
  provokedBy: "somebody set fan-out's reserved concurrency to 0, and adverts change",
  factor,
  meanwhile: changesInTurn(),

  async provoke({ deployment: { cloud, outputs } }) {
    const FunctionName = outputs.fanOutFunctionName;
    const none = { FunctionName, ReservedConcurrentExecutions: 0 };
    await cloud.lambda.send(new PutFunctionConcurrencyCommand(none));
  },

  async mend(scene) {
    const { fanOutFunctionName } = scene.deployment.outputs;
    const told = await scene.follow('doctor', {}, [0, 1, 3]);
    const { stdout: said } = await scene.deployment.advertBridge.run(['status'], '', { expected: [3] });
    for (const text of [told, said])
      assert.ok(text.includes(`delete-function-concurrency --function-name ${fanOutFunctionName}`), text);
    await scene.follow('delete-concurrency', { FUNCTION: fanOutFunctionName });
    await expectPublished(scene);
  },
};

/** Files that `cdk deploy` reads, in addition to the packages. */
const deployed = [
  ...['docs', 'functions', 'infra', 'shared', 'tools'],
  ...['LICENSE', 'cdk.json', 'package.json', 'package-lock.json', 'tsconfig.json'],
];
/** The first line of the body of fan-out's handler. */
const place = '  const receivedAt = systemClock.now();\n';

export const brokenFanOut: Exercise = {
  alarm: 'FunctionErrors-FanOut',
  provokedBy: 'a version is deployed of which fan-out throws at every batch',
  factor,
  meanwhile: changesInTurn(),

  async provoke({ deployment: { env, processes, folder, settings } }) {
    const broken = join(folder, 'broken-version');
    await mkdir(broken);
    for (const name of deployed) await cp(join(repository, name), join(broken, name), { recursive: true });
    await symlink(join(repository, 'node_modules'), join(broken, 'node_modules'));
    const file = join(broken, 'functions/fan-out/handler.ts');
    const source = await readFile(file, 'utf8');
    assert.equal(source.split(place).length, 2, `${file} has the place for the fault once`);
    const fault = "  if (records.length > 0) throw new TypeError('this version has a fault');\n";
    await writeFile(file, source.replace(place, fault + place));
    await cdkOn(env, broken, processes, broken).deploy(settings);
  },

  async mend(scene) {
    const { cdk, settings, outputs } = scene.deployment;
    const log = await scene.follow('log', { FUNCTION: outputs.fanOutFunctionName });
    assert.match(log, /"level":"ERROR".*this version has a fault/);
    await cdk.deploy(settings);
    await expectPublished(scene);
  },
};

export const changedVariable: Exercise = {
  alarm: 'FunctionErrors-RefreshToken',
  provokedBy: 'somebody changed a variable of the function by hand: the name of a table that is not there',
  factor,
  async meanwhile({ deployment: { cloud, outputs } }) {
    await invoke(cloud, outputs.refreshTokenFunctionName).catch(() => undefined);
  },

  async provoke({ deployment: { cloud, outputs } }) {
    const FunctionName = outputs.refreshTokenFunctionName;
    const { Environment } = await cloud.lambda.send(new GetFunctionConfigurationCommand({ FunctionName }));
    const wrong = { [resourceKeys.feedStateTable]: 'a-table-that-is-not-there' };
    const Variables = { ...Environment?.Variables, ...wrong };
    const changed = { FunctionName, Environment: { Variables } };
    await cloud.lambda.send(new UpdateFunctionConfigurationCommand(changed));
  },

  async mend(scene) {
    const { cdk, settings, cloud, outputs } = scene.deployment;
    const log = await scene.follow('log', { FUNCTION: outputs.refreshTokenFunctionName });
    assert.match(log, /"level":"ERROR".*ResourceNotFoundException/);
    const answer = () => invoke(cloud, outputs.refreshTokenFunctionName);
    await cdk.deploy(settings);
    await assert.rejects(answer, 'the same template puts nothing back');
    await cdk.deploy({ ...settings, maxRequestsPerSecond: '49' });
    await cdk.deploy(settings);
    await answer();
  },
};

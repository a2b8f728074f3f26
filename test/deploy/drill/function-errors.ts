import assert from 'node:assert/strict';
import { join } from 'node:path';
import { resourceKeys } from '../../../shared/contract/environment.ts';
import { cdkOn, type Outputs } from '../stack/cdk.ts';
import { changeVariables, invoke } from '../stack/functions.ts';
import { brokenVersion, brokenVersionsError } from './broken-version.ts';
import { changesInTurn, expectPublished } from './changes.ts';
import type { Exercise, Scene } from './scene.ts';

/** The hour that these alarms evaluate becomes a quarter of a minute. */
const factor = 240;
const periodMs = (5 * 60_000) / factor;

/** Invokes a function, as the schedule does; ignores the result. */
const run =
  (name: keyof Outputs) =>
  async ({ deployment: { cloud, outputs } }: Scene): Promise<void> => {
    await invoke(cloud, outputs[name]).catch(() => undefined);
  };

/** Functions that fail, each for a different reason. */
export const brokenFanOut: Exercise = {
  alarm: 'FunctionErrors-FanOut',
  provokedBy: 'a version is deployed of which fan-out throws at every batch',
  mendedBy: 'the log, which has the error; the version before is deployed',
  factor,
  meanwhile: changesInTurn(periodMs),

  async provoke({ around: { env, processes, folder }, deployment: { settings } }) {
    const broken = join(folder, 'broken-version');
    await cdkOn(env, broken, processes, await brokenVersion(broken)).deploy(settings);
  },

  async mend(scene) {
    const { cdk, settings, outputs } = scene.deployment;
    const log = await scene.follow('log', { FUNCTION: outputs.fanOutFunctionName });
    assert.match(log, new RegExp(`"level":"ERROR".*${brokenVersionsError}`));
    await cdk.deploy(settings);
    await expectPublished(scene);
  },
};

export const changedVariable: Exercise = {
  alarm: 'FunctionErrors-RefreshToken',
  provokedBy: 'somebody changed a variable of the function by hand: the name of a table that is not there',
  mendedBy: 'the log, which has the error; two deployments, the first with another maxRequestsPerSecond',
  factor,
  meanwhile: run('refreshTokenFunctionName'),

  async provoke({ deployment: { cloud, outputs } }) {
    const wrong = { [resourceKeys.feedStateTable]: 'a-table-that-is-not-there' };
    await changeVariables(cloud, outputs.refreshTokenFunctionName, wrong);
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

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { GetScheduleCommand, UpdateScheduleCommand } from '@aws-sdk/client-scheduler';
import { until } from '../../helpers/until.ts';
import { deliver } from '../stack/deployment.ts';
import { drain } from '../stack/functions.ts';
import { type Exercise, expectPublished, runDrain, type Scene } from './scene.ts';

/** How long until every function knows of a pause, as docs/operate/runbook.md states it. */
const noticedAfterMs = 5_000;

/** Feeds are not read. */
export const serviceDown: Exercise = {
  alarm: 'NoSuccessfulDrain',
  provokedBy: 'the service answers 503 to every request for a feed',

  async provoke({ deployment: { sandbox } }) {
    sandbox.control.faults.add({ kind: 'status', status: 503, endpoint: 'feed' });
  },
  meanwhile: runDrain,

  async mend(scene) {
    const { deployment, adverts } = scene;
    const { sandbox, outputs } = deployment;
    await scene.follow('outputs');
    assert.match(await scene.follow('status'), /HTTP 503|503/);
    const log = await scene.follow('log', { FUNCTION: outputs.drainFunctionName });
    // The emulator lets every filter pattern pass everything, so the pattern in the runbook must include this level.
    assert.match(log, /"level":"WARN",.*the feed could not be read/);
    sandbox.control.faults.clear();
    // Otherwise the feed waits for up to five minutes after the last answer of 503.
    await deployment.advertBridge.run(['poll', scene.account]);
    sandbox.control.setStatus(adverts[1] ?? '', 'limited');
    await deliver(deployment, 1);
  },
};

export const scheduleOff: Exercise = {
  alarm: 'NoSuccessfulDrain',
  provokedBy: 'somebody disabled the schedule',

  async provoke({ deployment: { cloud, outputs } }) {
    const { Target, ScheduleExpression, FlexibleTimeWindow } = await cloud.scheduler.send(
      new GetScheduleCommand({ Name: outputs.drainScheduleName }),
    );
    const kept = { Target, ScheduleExpression, FlexibleTimeWindow };
    await cloud.scheduler.send(
      new UpdateScheduleCommand({ Name: outputs.drainScheduleName, State: 'DISABLED', ...kept }),
    );
  },

  async mend(scene) {
    const { cloud, outputs } = scene.deployment;
    const told = await scene.follow('status');
    assert.match(told, /`aws scheduler update-schedule --name .* --state ENABLED/);
    assert.match(await scene.follow('schedules'), /DISABLED/);
    await scene.follow('enable-schedule', { SCHEDULE: outputs.drainScheduleName });
    const after = await cloud.scheduler.send(new GetScheduleCommand({ Name: outputs.drainScheduleName }));
    assert.equal(after.State, 'ENABLED');
    assert.equal(after.Target?.Input, '{}');
    await scene.follow('poll');
  },
};

/** The service asks for a long pause. */
export const longPause: Exercise = {
  alarm: 'NeedsAttention',
  provokedBy: 'the service answers 429 with Retry-After: 7200',

  async provoke(scene) {
    scene.deployment.sandbox.control.faults.add({
      ...{ kind: 'status', status: 429, endpoint: 'feed', count: 1 },
      headers: { 'retry-after': '7200' },
    });
    await runDrain(scene);
  },
  async mend(scene) {
    await scene.follow('resume-early');
    await resumed(scene);
  },
};

export const blockedAddress: Exercise = {
  alarm: 'NeedsAttention',
  provokedBy: 'the service answers 403 to the requests for adverts of two partner accounts',

  async provoke(scene) {
    const { sandbox, cloud, outputs } = scene.deployment;
    const { control } = sandbox;
    control.faults.add({ kind: 'status', status: 403, endpoint: 'advert' });
    for (const id of [...scene.adverts.slice(2, 4), ...advertsOfMain(scene)])
      control.setStatus(id, 'limited');
    await drain(cloud, outputs.drainFunctionName);
  },
  async mend(scene) {
    assert.match(await scene.follow('status'), /as if it blocked this address/);
    scene.deployment.sandbox.control.faults.clear();
    await scene.follow('resume-early');
    await resumed(scene);
  },
};

/** Two adverts of another partner account, which every part of the deploy test connects first. */
function advertsOfMain({ deployment }: Scene): string[] {
  return deployment.sandbox.control
    .truth('main')
    .slice(-2)
    .map(({ id }) => id);
}

/** Waits until the functions notice that the pause is over, and everything is read and published. */
async function resumed(scene: Scene): Promise<void> {
  const { cloud, outputs, advertBridge } = scene.deployment;
  await sleep(noticedAfterMs);
  const isDone = async () => {
    const isRead = await drain(cloud, outputs.drainFunctionName).then(
      () => true,
      () => false,
    );
    return isRead && (await advertBridge.status()).queue.waiting === 0;
  };
  await until('everything is read', isDone, { withinMs: 150_000, everyMs: 1000 });
  await expectPublished(scene);
}

/** An operator's pause. */
export const pause: Exercise = {
  alarm: 'Pause and resume',
  provokedBy: 'pause, for one partner account and for all',

  async provoke(scene) {
    const { deployment, account, adverts } = scene;
    const { control } = deployment.sandbox;
    await scene.follow('pause', { NAME: account });
    assert.match(await scene.follow('status'), /paused by .* \(their migration\)/);
    await sleep(noticedAfterMs);
    const requests = control.journal.nextIndex;
    control.setStatus(adverts[6] ?? '', 'limited');
    await runDrain(scene);
    assert.equal(control.journal.nextIndex, requests, 'the service was asked');
  },
  async mend(scene) {
    await scene.follow('resume', { NAME: scene.account });
    await resumed(scene);
  },
};

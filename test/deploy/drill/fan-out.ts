import assert from 'node:assert/strict';
import {
  ListEventSourceMappingsCommand,
  PutFunctionConcurrencyCommand,
  UpdateEventSourceMappingCommand,
} from '@aws-sdk/client-lambda';
import { onItsWayMs } from '../stack/deployment.ts';
import { drain } from '../stack/functions.ts';
import { changesInTurn, expectPublished } from './changes.ts';
import type { Exercise } from './scene.ts';

export const mappingOff: Exercise = {
  alarm: 'NeedsAttention-Backlog',
  provokedBy: "somebody disabled fan-out's event source mapping, and an advert changed",
  mendedBy:
    'status and doctor, which tell the command; aws lambda list-event-source-mappings, update-event-source-mapping',
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
    const told = [await scene.follow('status'), await scene.follow('doctor', {}, [0, 1, 3])];
    for (const text of told)
      assert.ok(text.includes(`update-event-source-mapping --uuid ${uuid} --enabled`), text);
    await scene.follow('enable-mapping', { UUID: uuid });
    assert.ok(await subscriber.readUntil(({ length }) => length > before, onItsWayMs), 'the event comes');
  },
};

/** The alarm's hour becomes a quarter of a minute. */
const throttledFactor = 240;

export const concurrencyTaken: Exercise = {
  alarm: 'FunctionErrors-Throttled',
  provokedBy: "somebody set fan-out's reserved concurrency to 0, and adverts change",
  mendedBy: 'doctor, which tells the command; aws lambda delete-function-concurrency',
  factor: throttledFactor,
  meanwhile: changesInTurn((5 * 60_000) / throttledFactor),

  async provoke({ deployment: { cloud, outputs } }) {
    await cloud.lambda.send(
      new PutFunctionConcurrencyCommand({
        FunctionName: outputs.fanOutFunctionName,
        ReservedConcurrentExecutions: 0,
      }),
    );
  },

  async mend(scene) {
    const { fanOutFunctionName } = scene.deployment.outputs;
    const told = await scene.follow('doctor', {}, [0, 1, 3]);
    assert.ok(told.includes(`delete-function-concurrency --function-name ${fanOutFunctionName}`), told);
    await scene.follow('delete-concurrency', { FUNCTION: fanOutFunctionName });
    await expectPublished(scene);
  },
};

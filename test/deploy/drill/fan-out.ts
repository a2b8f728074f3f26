import assert from 'node:assert/strict';
import { ListEventSourceMappingsCommand, UpdateEventSourceMappingCommand } from '@aws-sdk/client-lambda';
import { onItsWayMs } from '../stack/deployment.ts';
import { drain } from '../stack/functions.ts';
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

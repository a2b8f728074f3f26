import { expect, it, onTestFinished, vi } from 'vitest';
import { eventBuses } from '../../../../functions/runtime/deps.ts';
import { onEach } from '../../../../shared/ports/event-publisher.ts';
import { createInMemoryEvents } from '../../../fakes/event-publisher.ts';
import { startBuses } from '../../../helpers/aws/fake-buses.ts';
import { anEnvelope } from '../../../helpers/aws/fixtures.ts';

const customEventBusArn = `arn:aws:events:eu-west-1:111122223333:event-busv2/adverts/${'a1b2c'.repeat(5)}`;
const group = '/advert-bridge/main/advert/7';

it.each([
  ['the classic bus', { eventBusName: 'adverts' }, [undefined]],
  ['the Custom Event Bus', { customEventBusArn }, [group]],
  ['both', { eventBusName: 'adverts', customEventBusArn }, [undefined, group]],
])('a function publishes on %s when its environment names it', async (_what, names, expected) => {
  const buses = await startBuses();
  onTestFinished(buses.stop);
  const { endpoint, region, credentials } = buses.config;
  vi.stubEnv('AWS_ENDPOINT_URL', endpoint);
  vi.stubEnv('AWS_REGION', region);
  vi.stubEnv('AWS_ACCESS_KEY_ID', credentials.accessKeyId);
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', credentials.secretAccessKey);

  await eventBuses(names).publish(anEnvelope('7', 1));

  expect(buses.accepted.map((accepted) => accepted.group).sort()).toEqual([...expected].sort());
});

it('a function does not start when its environment names no bus', () => {
  expect(() => eventBuses({})).toThrow('the environment names no event bus');
});

it('an event is accepted once both buses have it, alike each time', async () => {
  const [classic, custom] = [createInMemoryEvents(), createInMemoryEvents(() => 0)];
  const both = onEach([classic, custom]);
  custom.refuse();
  await expect(both.publish(anEnvelope('7', 1))).rejects.toThrow('the bus refused the event');
  expect([classic.accepted.length, custom.accepted.length]).toEqual([1, 0]);

  custom.accept();
  await both.publish(anEnvelope('7', 1));
  expect(new Set([...classic.accepted, ...custom.accepted])).toEqual(new Set([anEnvelope('7', 1)]));
  expect([classic.accepted.length, custom.accepted.length]).toEqual([2, 1]);
});

it('an event is not rejected before each bus has answered', async () => {
  const refused = Promise.reject(new Error('refused'));
  const late = Promise.withResolvers<void>();
  const both = onEach([{ publish: () => refused }, { publish: () => late.promise }]);
  let isOver = false;
  const publishing = both.publish(anEnvelope('7', 1)).finally(() => {
    isOver = true;
  });
  await new Promise(setImmediate);
  expect(isOver).toBe(false);
  late.resolve();
  await expect(publishing).rejects.toThrow('refused');
});

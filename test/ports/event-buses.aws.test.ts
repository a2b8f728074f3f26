import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { expect, it, onTestFinished } from 'vitest';
import { customEventBus, customEventBusClient } from '../../shared/aws/custom-event-bus.ts';
import { classicEventBus, createEventPublisher } from '../../shared/aws/event-publisher.ts';
import { startBuses } from '../helpers/aws/fake-buses.ts';
import { anEnvelope } from '../helpers/aws/fixtures.ts';
import { eventPublisherSuite } from './event-publisher.suite.ts';

const arn = `arn:aws:events:eu-west-1:111122223333:event-busv2/adverts/${'a1b2c'.repeat(5)}`;

const subjectOf = ({ accepted, fail, stop }: Awaited<ReturnType<typeof startBuses>>) => ({
  accepted: () => accepted.map(({ eventId }) => eventId),
  fail,
  cleanUp: async () => stop(),
});

eventPublisherSuite('classic event bus', { deduplicates: false }, async () => {
  const buses = await startBuses();
  const client = new EventBridgeClient(buses.config);
  return { publisher: createEventPublisher(classicEventBus(client, 'adverts')), ...subjectOf(buses) };
});

async function aCustomBus() {
  const buses = await startBuses();
  const publisher = createEventPublisher(customEventBus(customEventBusClient(buses.config), arn));
  return { publisher, buses };
}

eventPublisherSuite('custom event bus', { deduplicates: true }, async () => {
  const { publisher, buses } = await aCustomBus();
  return { publisher, ...subjectOf(buses) };
});

it('puts the events of an advert of the custom bus into one group', async () => {
  const { publisher, buses } = await aCustomBus();
  onTestFinished(buses.stop);
  for (const [advert, sequence] of [
    ['1', 1],
    ['1', 2],
    ['2', 1],
  ] as const)
    await publisher.publish(anEnvelope(advert, sequence));
  const groups = buses.accepted.map(({ group }) => group);
  expect(groups).toEqual(['1', '1', '2'].map((advert) => `/advert-bridge/main/advert/${advert}`));
});

it('gives groups at most 128 characters, different ones for two adverts', async () => {
  const { publisher, buses } = await aCustomBus();
  onTestFinished(buses.stop);
  const longName = 'a'.repeat(64);
  const ofBridge = (advert: string) =>
    anEnvelope(advert, 1).replace('"metadata":{', `"metadata":{"bridge":"${longName}",`);
  const renamed = (advert: string) => ofBridge(advert).replace('/main/', `/${'m'.repeat(64)}/`);
  await Promise.all(['1', '2', '1'].map((advert) => publisher.publish(renamed(advert))));
  const groups = buses.calls.flat().map(({ SystemMetadata }) => SystemMetadata?.EventGroupId ?? '');
  expect(groups.map((group) => group.length)).toEqual([64, 64, 64]);
  expect(new Set(groups).size).toBe(2);
});

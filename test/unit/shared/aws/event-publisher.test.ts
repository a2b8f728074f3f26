import { EventBridgeClient, PutEventsCommand, type PutEventsRequestEntry } from '@aws-sdk/client-eventbridge';
import { beforeEach, expect, it, vi } from 'vitest';
import { classicEventBus, createEventPublisher } from '../../../../shared/aws/event-publisher.ts';
import { anEnvelope } from '../../../helpers/aws/fixtures.ts';
import { mockClient } from '../../../helpers/aws/mock-client.ts';
import { createManualClock } from '../../../helpers/manual-clock.ts';

const bus = mockClient(EventBridgeClient);
const client = new EventBridgeClient({});
const make = (clock = createManualClock()) => createEventPublisher(classicEventBus(client, 'adverts'), clock);
const calls = () => bus.commandCalls(PutEventsCommand).map(({ args }) => args[0].input.Entries ?? []);
const advertOf = ({ Resources }: PutEventsRequestEntry) => Resources?.[0]?.split('/').at(-1);
const adverts = () => calls().map((entries) => entries.map(advertOf));
const accept = async ({ Entries }: { Entries: readonly PutEventsRequestEntry[] }) => ({
  Entries: Entries.map((_, index) => ({ EventId: String(index) })),
});
/** Answers of 200 with an error inside for advert 2. */
const refuse = async ({ Entries }: { Entries: readonly PutEventsRequestEntry[] }) => ({
  Entries: Entries.map((entry) =>
    advertOf(entry) === '2' ? { EventId: 'a', ErrorCode: 'ThrottlingException' } : { EventId: 'a' },
  ),
});

beforeEach(() => {
  vi.spyOn(Math, 'random').mockReturnValue(0.5);
  bus.reset();
  bus.on(PutEventsCommand).callsFake(accept);
});

it('events published together go in calls of ten', async () => {
  const { publish } = make();
  await Promise.all(Array.from({ length: 12 }, (_, index) => publish(anEnvelope(String(index)))));
  expect(calls().map((entries) => entries.length)).toEqual([10, 2]);
});

it('the envelope’s parts are sent, the same again each time', async () => {
  const { publish } = make();
  await publish(anEnvelope());
  await publish(anEnvelope());
  const [first, second] = calls().map(([entry]) => entry);
  expect(first).toEqual(second);
  expect(first).toEqual({
    EventBusName: 'adverts',
    Source: 'advert-bridge',
    DetailType: 'AdvertStatusChanged',
    Time: new Date('2026-11-20T12:00:00.123Z'),
    Resources: ['advert-bridge/main/advert/123'],
    Detail: JSON.stringify(JSON.parse(anEnvelope()).detail),
  });
});

it('events published during a call are gathered for the next one', async () => {
  const underWay = Promise.withResolvers<void>();
  bus.on(PutEventsCommand).callsFake(async (input) => {
    if (calls().length === 1) await underWay.promise;
    return accept(input);
  });
  const { publish } = make();
  const first = publish(anEnvelope('1'));
  await new Promise(setImmediate);
  const others = [publish(anEnvelope('2')), publish(anEnvelope('3'))];
  await new Promise(setImmediate);
  expect(adverts()).toEqual([['1']]);
  underWay.resolve();
  await Promise.all([first, ...others]);
  expect(adverts()).toEqual([['1'], ['2', '3']]);
});

it('two events of one advert are kept out of one call', async () => {
  const { publish } = make();
  await Promise.all([anEnvelope('1', 1), anEnvelope('1', 2), anEnvelope('2', 1)].map(publish));
  expect(adverts()).toEqual([['1', '2'], ['1']]);
});

it('only failed entries are sent again, five times, ever later', async () => {
  bus.on(PutEventsCommand).callsFake(refuse);
  const clock = createManualClock();
  const { publish } = make(clock);
  const outcomes = await Promise.allSettled(['1', '2'].map((id) => publish(anEnvelope(id))));
  expect(outcomes).toMatchObject([
    { status: 'fulfilled' },
    { reason: { name: 'RefusedEventError', code: 'ThrottlingException' } },
  ]);
  expect(adverts()).toEqual([['1', '2'], ['2'], ['2'], ['2'], ['2']]);
  expect(clock.slept).toEqual([25, 50, 100, 200]);
});

it('all of a failed call is rejected with its cause, and others go on', async () => {
  const cause = Object.assign(new Error('no route'), { name: 'TimeoutError' });
  bus.on(PutEventsCommand).rejectsOnce(cause).callsFake(accept);
  const { publish } = make();
  await expect(publish(anEnvelope())).rejects.toMatchObject({ code: 'TimeoutError', cause });
  await expect(publish(anEnvelope())).resolves.toBeUndefined();
});

it('an entry without an answer is refused', async () => {
  bus.on(PutEventsCommand).resolves({});
  await expect(make().publish(anEnvelope())).rejects.toThrow('did not accept');
});

import { EventBridgeClient, PutEventsCommand, type PutEventsRequestEntry } from '@aws-sdk/client-eventbridge';
import { beforeEach, describe, expect, it } from 'vitest';
import { createEventPublisher } from '../../../shared/aws/event-publisher.ts';
import { aClock, anEnvelope } from '../../helpers/aws/fixtures.ts';
import { mockClient } from '../../helpers/aws/mock-client.ts';

const bus = mockClient(EventBridgeClient);
const make = () =>
  createEventPublisher({
    client: new EventBridgeClient({}),
    busName: 'adverts',
    clock: aClock(),
    random: () => 0.5,
  });
const calls = () => bus.commandCalls(PutEventsCommand).map(({ args }) => args[0].input.Entries ?? []);
const accepted = (entries: readonly PutEventsRequestEntry[]) => ({
  Entries: entries.map((_, index) => ({ EventId: String(index) })),
});

beforeEach(() => {
  bus.reset();
  bus.on(PutEventsCommand).callsFake(async ({ Entries }) => accepted(Entries));
});

describe('publishing events', () => {
  it('puts what is asked for side by side into calls of ten', async () => {
    const { publish } = make();
    await Promise.all(Array.from({ length: 12 }, (_, index) => publish(anEnvelope(String(index)))));
    expect(calls().map((entries) => entries.length)).toEqual([10, 2]);
  });

  it('sends the envelope’s parts, the detail byte for byte however often', async () => {
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

  it('gathers what is asked for while a call is under way', async () => {
    let answer = () => {};
    bus.on(PutEventsCommand).callsFake(async ({ Entries }) => {
      if (calls().length === 1) await new Promise<void>((resolve) => (answer = resolve));
      return accepted(Entries);
    });
    const { publish } = make();
    const first = publish(anEnvelope('1'));
    await new Promise(setImmediate);
    await new Promise(setImmediate);
    const others = [publish(anEnvelope('2')), publish(anEnvelope('3'))];
    await new Promise(setImmediate);
    expect(calls()).toHaveLength(1);
    answer();
    await Promise.all([first, ...others]);
    expect(calls().map((entries) => entries.length)).toEqual([1, 2]);
  });

  it('keeps two events of one advert out of one call', async () => {
    const { publish } = make();
    await Promise.all([
      publish(anEnvelope('1', 1)),
      publish(anEnvelope('1', 2)),
      publish(anEnvelope('2', 1)),
    ]);
    expect(calls().map((entries) => entries.map(({ Resources }) => Resources?.[0]?.at(-1)))).toEqual([
      ['1', '2'],
      ['1'],
    ]);
  });

  it('sends again just the entries that failed inside an answer of 200', async () => {
    bus
      .on(PutEventsCommand)
      .resolvesOnce({
        FailedEntryCount: 1,
        Entries: [{ EventId: 'a' }, { ErrorCode: 'ThrottlingException', ErrorMessage: 'slow' }],
      })
      .callsFake(async ({ Entries }) => accepted(Entries));
    const { publish } = make();
    await Promise.all([publish(anEnvelope('1')), publish(anEnvelope('2'))]);
    expect(calls()[1]?.map(({ Resources }) => Resources)).toEqual([['advert-bridge/main/advert/2']]);
  });

  it('rejects with the error code when an entry keeps failing, the others apart', async () => {
    bus.on(PutEventsCommand).callsFake(async ({ Entries }) => ({
      Entries: Entries.map(({ Resources }: PutEventsRequestEntry) =>
        Resources?.[0]?.endsWith('/2') ? { ErrorCode: 'InternalFailure' } : { EventId: 'a' },
      ),
    }));
    const { publish } = make();
    const [one, two] = await Promise.allSettled([publish(anEnvelope('1')), publish(anEnvelope('2'))]);
    expect(one.status).toBe('fulfilled');
    expect(two).toMatchObject({ reason: { name: 'RefusedEventError', code: 'InternalFailure' } });
    expect(calls()).toHaveLength(5);
  });

  it('rejects all of a call that failed as a whole, and goes on with the next', async () => {
    bus
      .on(PutEventsCommand)
      .rejectsOnce(new Error('no route'))
      .callsFake(async ({ Entries }) => accepted(Entries));
    const { publish } = make();
    await expect(publish(anEnvelope())).rejects.toMatchObject({ name: 'RefusedEventError' });
    await expect(publish(anEnvelope())).resolves.toBeUndefined();
  });

  it('takes an entry without an answer for refused', async () => {
    bus.on(PutEventsCommand).resolves({});
    await expect(make().publish(anEnvelope())).rejects.toThrow('did not accept');
  });

  it('waits longer before each further try, and lets others pass meanwhile', async () => {
    bus.on(PutEventsCommand).callsFake(async ({ Entries }) => ({
      Entries: Entries.map(({ Resources }: PutEventsRequestEntry) =>
        Resources?.[0]?.endsWith('/2')
          ? { EventId: 'a', ErrorCode: 'ThrottlingException' }
          : { EventId: 'a' },
      ),
    }));
    const clock = aClock();
    const { publish } = createEventPublisher({
      client: new EventBridgeClient({}),
      busName: 'adverts',
      clock,
      random: () => 0.5,
    });
    const refused = publish(anEnvelope('2'));
    await expect(refused).rejects.toThrow('the event bus did not accept the event: ThrottlingException');
    await publish(anEnvelope('1'));
    expect(clock.slept).toEqual([25, 50, 100, 200]);
    expect(
      calls()
        .at(-1)
        ?.map(({ Resources }) => Resources),
    ).toEqual([['advert-bridge/main/advert/1']]);
  });

  it('names the fault of a call that failed as a whole, with its cause', async () => {
    const cause = Object.assign(new Error('no route'), { name: 'TimeoutError' });
    bus.on(PutEventsCommand).rejectsOnce(cause);
    await expect(make().publish(anEnvelope())).rejects.toMatchObject({ code: 'TimeoutError', cause });
    bus.on(PutEventsCommand).callsFake(() => Promise.reject('no error'));
    await expect(make().publish(anEnvelope())).rejects.toMatchObject({ code: 'unknown' });
  });

  it('puts events without a subject side by side', async () => {
    const bare = (change: object) => JSON.stringify({ ...JSON.parse(anEnvelope()), ...change });
    const { publish } = make();
    await Promise.all(
      [{ resources: [] }, { resources: [] }, { resources: undefined }].map(bare).map(publish),
    );
    expect(calls().map((entries) => entries.length)).toEqual([3]);
  });
});

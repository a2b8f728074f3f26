import { EventBridgeClient, PutEventsCommand, type PutEventsRequestEntry } from '@aws-sdk/client-eventbridge';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { createEventPublisher } from '../../../shared/aws/event-publisher.ts';
import { anEnvelope } from '../../helpers/aws/fixtures.ts';
import { mockClient } from '../../helpers/aws/mock-client.ts';
import { createManualClock } from '../../helpers/manual-clock.ts';

const bus = mockClient(EventBridgeClient);
const client = new EventBridgeClient({});
const make = (clock = createManualClock()) => createEventPublisher({ client, busName: 'adverts', clock });
const calls = () => bus.commandCalls(PutEventsCommand).map(({ args }) => args[0].input.Entries ?? []);
const advertOf = ({ Resources }: PutEventsRequestEntry) => Resources?.[0]?.split('/').at(-1);
/** Answers of 200, with an error inside for advert 2. */
const answer = async ({ Entries }: { Entries: readonly PutEventsRequestEntry[] }) => ({
  Entries: Entries.map((entry) => ({
    EventId: 'a',
    ...(advertOf(entry) === '2' && { ErrorCode: 'ThrottlingException' }),
  })),
});

beforeEach(() => {
  vi.spyOn(Math, 'random').mockReturnValue(0.5);
  bus.reset();
  bus.on(PutEventsCommand).callsFake(answer);
});

describe('publishing events', () => {
  it('sends the envelope’s parts, the same again each time', async () => {
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

  it('sends just the refused event again, five times, each after a longer wait', async () => {
    const clock = createManualClock();
    const { publish } = make(clock);
    const outcomes = await Promise.allSettled(['1', '2'].map((id) => publish(anEnvelope(id))));
    expect(outcomes).toMatchObject([
      { status: 'fulfilled' },
      { reason: { name: 'RefusedEventError', code: 'ThrottlingException' } },
    ]);
    expect(calls().flat().map(advertOf)).toEqual(['1', '2', '2', '2', '2', '2']);
    expect(clock.slept).toEqual([25, 50, 100, 200]);
  });

  it('throws the error of a call that failed', async () => {
    const denied = Object.assign(new Error('no events:PutEvents'), { name: 'AccessDeniedException' });
    bus.on(PutEventsCommand).rejects(denied);
    await expect(make().publish(anEnvelope())).rejects.toBe(denied);
  });

  it('takes an entry without an answer for refused', async () => {
    bus.on(PutEventsCommand).resolves({});
    await expect(make().publish(anEnvelope())).rejects.toThrow('did not accept');
  });
});

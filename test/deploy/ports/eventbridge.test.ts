import { CreateEventBusCommand } from '@aws-sdk/client-eventbridge';
import { afterEach, describe, expect, it } from 'vitest';
import { createEventPublisher } from '../../../shared/aws/event-publisher.ts';
import { eventSource } from '../../../shared/contract/names.ts';
import { anEnvelope } from '../../helpers/aws/fixtures.ts';
import { subscribe } from '../stack/subscriber.ts';
import { anAwsAccount } from './account.ts';

const made: ReturnType<typeof anAwsAccount>[] = [];
afterEach(async () => {
  for (const account of made.splice(0)) await account.cleanUp();
});

/** A bus with a subscriber and the bridge's publisher. */
async function aBus() {
  const account = anAwsAccount();
  made.push(account);
  await account.eventBridge.send(new CreateEventBusCommand({ Name: 'adverts' }));
  const subscriber = await subscribe(account, 'adverts');
  const { publish } = createEventPublisher({ client: account.eventBridge, busName: 'adverts' });
  return { publish, subscriber };
}

describe('EventBridge (MiniStack): event publisher', () => {
  it('delivers the whole envelope to the target of a rule', async () => {
    const { publish, subscriber } = await aBus();
    const envelope = anEnvelope('123', 7);
    await publish(envelope);
    expect(await subscriber.readUntil((events) => events.length === 1, 5_000)).toBe(true);
    // The emulator replaces the event's time by its own clock's; AWS keeps the time of the entry.
    const { time: _, ...rest } = JSON.parse(envelope);
    expect(subscriber.received[0]).toMatchObject(rest);
  });

  it('accepts more at once than one call takes, and loses none', async () => {
    const { publish, subscriber } = await aBus();
    const ids = Array.from({ length: 35 }, (_, index) => String(index));
    await Promise.all(ids.map((id) => publish(anEnvelope(id, 1))));
    await subscriber.readUntil((events) => events.length === ids.length, 10_000);
    const resources = subscriber.received.map((event) => event.resources);
    expect(new Set(resources.map(String))).toEqual(
      new Set(ids.map((id) => `advert-bridge/main/advert/${id}`)),
    );
  });

  it('throws for the event that the bus refuses inside an answer of 200, and for no other', async () => {
    const { publish, subscriber } = await aBus();
    const forbidden = anEnvelope('6', 1).replace(`"${eventSource}"`, '"aws.forged"');
    const [refused, fine] = await Promise.allSettled([publish(forbidden), publish(anEnvelope('7', 1))]);
    expect(refused).toMatchObject({
      status: 'rejected',
      reason: { name: 'RefusedEventError', code: 'NotAuthorizedForSourceException' },
    });
    expect(fine.status).toBe('fulfilled');
    expect(await subscriber.readUntil((events) => events.length === 1, 5_000)).toBe(true);
  });
});

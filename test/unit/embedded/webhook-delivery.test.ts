import { Webhook as StandardWebhook } from 'standardwebhooks';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { startDelivery } from '../../../embedded/webhooks/delivery.ts';
import type { Attempt, WebhookRequest } from '../../../embedded/webhooks/request.ts';
import { advertEvent } from '../../../shared/domain/advert-event.ts';
import { Secret } from '../../../shared/domain/secret.ts';
import { openEmbeddedState } from '../../../shared/sqlite/state.ts';
import { createVirtualClock } from '../../helpers/partner-api/virtual-clock.ts';
import { createRecordingObserver } from '../../helpers/recording-observer.ts';
import { changedAdvert } from '../../helpers/records.ts';
import { scratchFolders } from '../../helpers/scratch-folder.ts';

const folder = scratchFolders();
const url = 'https://subscriber.example/hook';
const hourMs = 3_600_000;
const failed: Attempt = { kind: 'failed', reason: 'it answered 500', blames: 'subscriber' };
const refused: Attempt = { kind: 'failed', reason: 'it answered 422', blames: 'event' };

const aSecret = (byte: number) => new Secret(`whsec_${Buffer.alloc(32, byte).toString('base64')}`);

/** A delivery in virtual time whose attempts answer as they are told. @param answer by `advert/sequence` and time */
function startSending(answer: (event: string, atMs: number) => Attempt) {
  const clock = createVirtualClock();
  const begun = clock.now();
  const state = openEmbeddedState(folder(), { clock });
  const sent: { event: string; at: number }[] = [];
  const requests: WebhookRequest[] = [];
  const observer = createRecordingObserver();
  const delivery = startDelivery(
    { url, signing: { secrets: [aSecret(0)], format: 'event' } },
    {
      outbox: state.outbox,
      clock,
      random: () => 0.5,
      observer,
      concurrency: 4,
      retentionMs: 3 * hourMs,
      send: async (request: WebhookRequest) => {
        const { headers } = request;
        requests.push(request);
        const event = headers['webhook-id']?.split('/').slice(2).join('/') ?? '';
        sent.push({ event, at: clock.now() - begun });
        return answer(event, clock.now() - begun);
      },
    },
  );
  onTestFinished(async () => {
    await delivery.stop();
    state.close();
  });
  const add = async (advertId: string, sequence: number) => {
    const seen = {
      bridge: 'AdvertBridge',
      status: `s${sequence}`,
      previousStatus: null,
      sequence,
      observedAt: clock.now(),
    };
    await state.outbox.add([url], JSON.stringify(advertEvent(changedAdvert({ advertId }), seen)));
    delivery.wake();
  };
  const run = (ms: number) => clock.run(begun + ms);
  const { outbox } = state;
  return { add, run, sent, requests, observer, delivery, outbox, counts: () => outbox.counts(url) };
}

const eventsOf = (sent: readonly { event: string }[]) => sent.map(({ event }) => event);

describe('the delivery to a webhook', () => {
  it('signs with the secrets that are stored when it sends, both during a rotation', async () => {
    const { add, run, requests, outbox } = startSending(() => ({ kind: 'delivered' }));
    const isSignedBy = (index: number, byte: number) => {
      const { body, headers } = requests[index] as WebhookRequest;
      try {
        // Its own clock is not ours.
        vi.setSystemTime(Number(headers['webhook-timestamp']) * 1000);
        new StandardWebhook(aSecret(byte).reveal()).verify(body, { ...headers });
        return true;
      } catch {
        return false;
      } finally {
        vi.useRealTimers();
      }
    };
    await add('1', 1);
    await run(1_000);
    await outbox.writeSecret(url, aSecret(1));
    await outbox.writeSecret(url, aSecret(2), { keepOld: true });
    await add('1', 2);
    await run(20_000);
    await outbox.dropOldSecret(url);
    await add('1', 3);
    await run(40_000);

    expect([0, 1, 2].map((byte) => isSignedBy(0, byte))).toEqual([true, false, false]);
    expect([0, 1, 2].map((byte) => isSignedBy(1, byte))).toEqual([false, true, true]);
    expect([0, 1, 2].map((byte) => isSignedBy(2, byte))).toEqual([false, false, true]);
  });

  it('sends CloudEvents in structured mode, where that is the format', async () => {
    const { add, run, requests, outbox } = startSending(() => ({ kind: 'delivered' }));
    await outbox.writeSecret(url, aSecret(1));
    await outbox.writeFormat(url, 'cloudevents');
    await add('1', 1);
    await run(1_000);

    const { body, headers } = requests[0] as WebhookRequest;
    const event = JSON.parse(body);
    expect(headers['content-type']).toBe('application/cloudevents+json; charset=utf-8');
    expect(event).toEqual({
      specversion: '1.0',
      id: headers['webhook-id'],
      source: `advert-bridge/${event.data.metadata.partnerAccount}`,
      type: 'AdvertStatusChanged',
      subject: 'advert/1',
      time: event.data.metadata.observedAt,
      datacontenttype: 'application/json',
      data: { metadata: expect.any(Object), data: expect.objectContaining({ advertId: '1' }) },
    });
  });

  it('sends event 2 of an advert only after 1 has arrived, and others meanwhile', async () => {
    const { add, run, sent, counts } = startSending((event, at) =>
      event === '1/1' && at < 20_000 ? refused : { kind: 'delivered' },
    );
    await add('1', 1);
    await add('1', 2);
    await add('2', 1);

    await run(120_000);

    const order = eventsOf(sent);
    expect(order.indexOf('2/1')).toBeLessThan(order.lastIndexOf('1/1'));
    expect(order.slice(order.indexOf('1/2'))).toEqual(['1/2']);
    expect(order.filter((event) => event === '1/1').length).toBeGreaterThan(2);
    expect(counts()).toMatchObject({ waiting: 0, givenUp: 0 });
  });

  it('waits as long as Retry-After asks for, with everything', async () => {
    const { add, run, sent } = startSending((_event, at) =>
      at < 60_000 ? { ...failed, retryAfterMs: 60_000 } : { kind: 'delivered' },
    );
    await add('1', 1);
    await run(10_000);
    await add('2', 1);
    await run(100_000);

    expect(sent.filter(({ at }) => at < 60_000)).toHaveLength(1);
    expect(new Set(eventsOf(sent))).toEqual(new Set(['1/1', '2/1']));
  });

  it('asks a subscriber that is down with one event at a time, ever more slowly', async () => {
    const { add, run, sent, delivery } = startSending(() => failed);
    for (let advert = 1; advert <= 50; advert += 1) await add(String(advert), 1);

    await run(hourMs);

    // 50 at once, with 4 side by side at first; then backoff to half a minute on average at this `random`.
    expect(sent.length).toBeGreaterThan(60);
    expect(sent.length).toBeLessThan(200);
    expect(delivery.trouble()).toMatchObject({ reason: 'it answered 500', gone: false });
  });

  it('gives up what is older than the retention, counts it and says so, and goes on with what is not', async () => {
    const { add, run, sent, observer, counts } = startSending((_event, at) =>
      at < 3.5 * hourMs ? failed : { kind: 'delivered' },
    );
    await add('1', 1);
    await run(hourMs);
    await add('1', 2);

    await run(4 * hourMs);

    expect(counts()).toEqual({ waiting: 0, givenUp: 1 });
    expect(sent.at(-1)?.event).toBe('1/2');
    expect(observer.lines).toContainEqual({
      level: 'error',
      message: 'events were given up: they waited for the webhook for more than 3 hours',
      fields: { webhook: url, events: 1 },
    });
  });

  it('sends nothing more after 410', async () => {
    const { add, run, sent, counts, delivery } = startSending(() => ({ kind: 'gone', reason: 'gone' }));
    await add('1', 1);
    await run(1_000);
    await add('2', 1);
    await run(hourMs);

    expect(sent).toHaveLength(1);
    expect(counts().waiting).toBe(2);
    expect(delivery.trouble()).toMatchObject({ gone: true });
  });
});

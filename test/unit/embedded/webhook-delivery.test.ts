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

type Answer = (event: string, atMs: number) => Attempt;

/** A delivery in virtual time whose attempts answer as they are told. @param answer by `advert/sequence` and time */
async function startSending(answer: Answer) {
  const clock = createVirtualClock();
  const begun = clock.now();
  const state = openEmbeddedState(folder(), { clock });
  const requests: WebhookRequest[] = [];
  const observer = createRecordingObserver();
  const { eventLog: log, webhooks } = state;
  await log.begin(url);
  function start(answer: Answer) {
    const sent: { event: string; at: number }[] = [];
    const delivery = startDelivery(
      { url, signing: { secrets: [aSecret(0)], format: 'event' } },
      {
        ...{ log, webhooks, clock },
        random: () => 0.5,
        observer,
        concurrency: 4,
        send: async (request: WebhookRequest) => {
          const { headers } = request;
          requests.push(request);
          const event = headers['webhook-id']?.split('/').slice(2).join('/') ?? '';
          sent.push({ event, at: clock.now() - begun });
          return answer(event, clock.now() - begun);
        },
      },
    );
    return { sent, delivery };
  }
  const { sent, delivery } = start(answer);
  let running = delivery;
  onTestFinished(async () => {
    await running.stop();
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
    await log.append(JSON.stringify(advertEvent(changedAdvert({ advertId }), seen)));
    running.wake();
  };
  const run = (ms: number) => clock.run(begun + ms);
  /** As a new run does. @returns what it sends */
  function startAgain(answer: Answer) {
    const again = start(answer);
    running = again.delivery;
    return again.sent;
  }
  const counts = () => webhooks.list().find((webhook) => webhook.url === url);
  return { add, run, sent, requests, observer, delivery, startAgain, log, webhooks, counts };
}

const eventsOf = (sent: readonly { event: string }[]) => sent.map(({ event }) => event);

describe('the delivery to a webhook', () => {
  it('signs with the secrets that are stored when it sends, both during a rotation', async () => {
    const { add, run, requests, webhooks } = await startSending(() => ({ kind: 'delivered' }));
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
    await webhooks.writeSecret(url, aSecret(1));
    await webhooks.writeSecret(url, aSecret(2), { keepOld: true });
    await add('1', 2);
    await run(20_000);
    await webhooks.dropOldSecret(url);
    await add('1', 3);
    await run(40_000);

    expect([0, 1, 2].map((byte) => isSignedBy(0, byte))).toEqual([true, false, false]);
    expect([0, 1, 2].map((byte) => isSignedBy(1, byte))).toEqual([false, true, true]);
    expect([0, 1, 2].map((byte) => isSignedBy(2, byte))).toEqual([false, false, true]);
  });

  it('sends CloudEvents in structured mode, where that is the format', async () => {
    const { add, run, requests, webhooks } = await startSending(() => ({ kind: 'delivered' }));
    await webhooks.writeSecret(url, aSecret(1));
    await webhooks.writeFormat(url, 'cloudevents');
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
    const { add, run, sent, counts } = await startSending((event, at) =>
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
    const { add, run, sent } = await startSending((_event, at) =>
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
    const { add, run, sent, counts } = await startSending(() => failed);
    for (let advert = 1; advert <= 50; advert += 1) await add(String(advert), 1);

    await run(hourMs);

    // 50 at once, with 4 side by side at first; then backoff to half a minute on average at this `random`.
    expect(sent.length).toBeGreaterThan(60);
    expect(sent.length).toBeLessThan(200);
    expect(counts()?.trouble).toMatchObject({ reason: 'it answered 500', gone: false });
  });

  it('sends a refused event again when its Retry-After has passed, not earlier', async () => {
    const { add, run, sent } = await startSending((event, at) =>
      event === '1/1' && at < 600_000 ? { ...refused, retryAfterMs: 600_000 } : { kind: 'delivered' },
    );
    await add('1', 1);
    await add('2', 1);

    await run(900_000);

    expect(sent.filter(({ event }) => event === '1/1').map(({ at }) => Math.floor(at / 60_000))).toEqual([
      0, 10,
    ]);
    expect(eventsOf(sent)).toContain('2/1');
  });

  it('sends an event again after its result could not be stored, and skips none', async () => {
    const { add, run, sent, webhooks, counts } = await startSending(() => ({ kind: 'delivered' }));
    vi.spyOn(webhooks, 'settle').mockRejectedValueOnce(new Error('locked'));
    await add('1', 1);
    await add('2', 1);

    await run(20_000);

    expect(new Set(eventsOf(sent))).toEqual(new Set(['1/1', '2/1']));
    expect(sent.length).toBeGreaterThan(2);
    expect(counts()).toMatchObject({ waiting: 0 });
  });

  it('leaves an unsent event as it is when its position was not stored before a crash', async () => {
    const first = await startSending((event) =>
      event === '1/1' ? { ...refused, retryAfterMs: hourMs } : { kind: 'delivered' },
    );
    vi.spyOn(first.log, 'advance').mockRejectedValue(new Error('killed'));
    await first.add('1', 1);
    await first.run(1_000);
    await first.delivery.stop();
    expect(first.log.position(url)).toBe(0);

    const again = first.startAgain(() => ({ kind: 'delivered' }));
    await first.run(0.9 * hourMs);
    expect(again).toEqual([]);
    await first.run(2 * hourMs);
    expect(eventsOf(again)).toEqual(['1/1']);
  });

  it('continues after the stored position, with what was not taken first', async () => {
    const first = await startSending((event) => (event === '1/1' ? refused : { kind: 'delivered' }));
    await first.add('1', 1);
    await first.add('2', 1);
    await first.run(1_000);
    await first.delivery.stop();
    await first.add('1', 2);
    await first.add('3', 1);
    expect(first.counts()).toMatchObject({ waiting: 3 });

    await first.webhooks.makeAllDue(url);
    const again = first.startAgain(() => ({ kind: 'delivered' }));
    await first.run(30_000);

    const order = eventsOf(again);
    expect(order.filter((event) => event.startsWith('1/'))).toEqual(['1/1', '1/2']);
    expect(order).not.toContain('2/1');
    expect(order).toContain('3/1');
    expect(first.counts()).toMatchObject({ waiting: 0 });
  });

  it('sends nothing more after 410', async () => {
    const { add, run, sent, counts } = await startSending(() => ({ kind: 'gone', reason: 'gone' }));
    await add('1', 1);
    await run(1_000);
    await add('2', 1);
    await run(hourMs);

    expect(sent).toHaveLength(1);
    expect(counts()).toMatchObject({ waiting: 2, trouble: { gone: true } });
  });
});

import { Webhook as StandardWebhook } from 'standardwebhooks';
import { expect, it, onTestFinished, vi } from 'vitest';
import { openReaders } from '../../../embedded/readers.ts';
import { openEmbeddedState } from '../../../embedded/state/state.ts';
import type { Failure, WebhookRequest } from '../../../embedded/webhooks/request.ts';
import { advertEvent } from '../../../shared/domain/advert-event.ts';
import { Secret } from '../../../shared/domain/secret.ts';
import { createVirtualClock } from '../../helpers/partner-api/virtual-clock.ts';
import { createRecordingObserver } from '../../helpers/recording-observer.ts';
import { changedAdvert } from '../../helpers/records.ts';
import { scratchFolders } from '../../helpers/scratch-folder.ts';

const folder = scratchFolders();
const good = 'https://good.example/hook';
const url = 'https://bad.example/hook?key=hidden';
const hourMs = 3_600_000;
const delivered = undefined;
const down: Failure = { reason: 'it answered 500', blames: 'subscriber' };
const refused: Failure = { reason: 'it answered 422', blames: 'event' };

const aSecret = (byte: number) => new Secret(`whsec_${Buffer.alloc(32, byte).toString('base64')}`);

/** Standard output and two webhooks in virtual time. @param answer of the second one, by `advert/sequence` and time */
async function setUp(
  answer: (event: string, atMs: number) => Failure | undefined = () => delivered,
  { maxEvents = 1_000, unreadBytes = 0 } = {},
) {
  vi.spyOn(Math, 'random').mockReturnValue(0.5);
  const steady = createVirtualClock();
  const begun = steady.now();
  /** By how much the clock of the machine is wrong. */
  const wrong = { byMs: 0 };
  const clock = { ...steady, now: () => steady.now() + wrong.byMs };
  const state = openEmbeddedState(folder(), { clock });
  const observer = createRecordingObserver();
  const received: Record<string, string[]> = { stdout: [], [good]: [], [url]: [] };
  const requests: WebhookRequest[] = [];
  const sent: { event: string; at: number }[] = [];
  const broken = { output: false };
  const pace = { ms: 0 };
  const still = { gate: Promise.resolve() };
  const eventOf = (id: string) => id.split('/').slice(2).join('/');
  const output = () => ({
    async write(bytes: Buffer) {
      await still.gate;
      if (broken.output) throw Object.assign(new Error('gone'), { code: 'EPIPE' });
      const lines = String(bytes).trim().split('\n');
      received.stdout?.push(...lines.map((line) => eventOf(JSON.parse(line).detail.metadata.eventId)));
      return bytes.length;
    },
    ...{ unreadBytes, wholeBytes: 4096, identity: '1/1', isTorn: false },
  });
  async function send(request: WebhookRequest): Promise<Failure | undefined> {
    const event = eventOf(request.headers['webhook-id'] ?? '');
    const at = steady.now() - begun;
    const isGood = request.url === good;
    if (!isGood && pace.ms > 0) await clock.sleep(pace.ms);
    if (!isGood) sent.push({ event, at });
    if (!isGood) requests.push(request);
    const failure = isGood ? delivered : answer(event, at);
    if (!failure) received[request.url]?.push(event);
    return failure;
  }
  for (const each of [url, good]) await state.webhooks.setUp(each, { secret: aSecret(0), keepOld: false });
  const open = (idleMs = 0) =>
    openReaders({
      ...{
        state,
        observer,
        clock,
        retentionHours: 3,
        maxEvents,
        idleMs,
        send,
        signal: new AbortController().signal,
      },
      webhooks: [url, good],
      output: output(),
    });
  let readers = await open();
  onTestFinished(async () => {
    vi.restoreAllMocks();
    await readers.stop();
    state.close();
  });
  return {
    ...{ observer, received, requests, sent, broken, pace, still, wrong },
    ...{ log: state.eventLog, webhooks: state.webhooks },
    run: (ms: number) => clock.run(begun + ms),
    stop: () => readers.stop(),
    async reopen(idleMs?: number) {
      sent.length = 0;
      readers = await open(idleMs);
    },
    counts: () => state.webhooks.list().find((webhook) => webhook.url === url),
    undelivered: () => readers.undelivered(),
    async publish(...ids: readonly string[]) {
      for (const id of ids) {
        const [advertId = '', number] = id.split('/');
        const sequence = Number(number);
        const change = { bridge: 'AdvertBridge', status: `s${sequence}`, previousStatus: null, sequence };
        const event = advertEvent(changedAdvert({ advertId }), { ...change, observedAt: clock.now() });
        await readers.events.publish(JSON.stringify(event));
      }
    },
  };
}

const eventsOf = (sent: readonly { event: string }[]) => sent.map(({ event }) => event);

it('readers get everything in order, and a removed reader nothing more', async () => {
  const { publish, run, sent, received, undelivered } = await setUp(() => ({
    blames: 'gone',
    reason: 'gone',
  }));
  await publish('1/1');
  await run(1_000);
  await publish('2/1', '3/1');
  await run(hourMs);

  const all = ['1/1', '2/1', '3/1'];
  expect(received).toEqual({ stdout: all, [good]: all, [url]: [] });
  expect(sent).toHaveLength(1);
  expect(undelivered()).toMatchObject([{ url, waiting: 3, trouble: { gone: true, reason: 'gone' } }]);
});

it('readers give up events older than the retention, and count them', async () => {
  const { publish, run, received, observer, webhooks } = await setUp((_event, at) =>
    at < 3.5 * hourMs ? down : delivered,
  );
  await publish('1/1');
  await run(hourMs);
  await publish('2/1');

  await run(4.5 * hourMs);

  expect(received[url]).toEqual(['2/1']);
  expect(webhooks.list()).toMatchObject([
    { url, waiting: 0, givenUp: 1 },
    { url: good, givenUp: 0 },
  ]);
  expect(observer.lines).toContainEqual({
    level: 'error',
    message: 'events were given up: they waited for the webhook for more than 3 hours',
    fields: { webhook: expect.stringMatching(/^https:\/\/bad\.example\/ho…\w{4}$/), events: 1 },
  });
});

it('readers give up nothing when a clock jumps ahead', async () => {
  const { publish, run, received, wrong, counts } = await setUp((_event, at) =>
    at < 10 * 60_000 ? down : delivered,
  );
  await publish('1/1');
  await run(60_000);
  wrong.byMs = 26 * hourMs;
  await run(5 * 60_000);
  wrong.byMs = 0;

  await run(20 * 60_000);

  expect(received[url]).toEqual(['1/1']);
  expect(counts()).toMatchObject({ waiting: 0, givenUp: 0 });
});

it('readers give up nothing that waited while no run was at work', async () => {
  const { publish, run, stop, reopen, received, wrong, counts } = await setUp((_event, at) =>
    at < 10 * 60_000 ? down : delivered,
  );
  await publish('1/1');
  await run(60_000);
  await stop();
  wrong.byMs = 26 * hourMs;
  await reopen(26 * hourMs);

  await run(20 * 60_000);

  expect(received[url]).toEqual(['1/1']);
  expect(counts()).toMatchObject({ waiting: 0, givenUp: 0 });
});

it.each([down, refused])('a webhook waits no longer when a clock is set back', async (failure) => {
  const { publish, run, received, wrong } = await setUp((_event, at) => (at < 60_000 ? failure : delivered));
  wrong.byMs = 5 * hourMs;
  await publish('1/1');
  await run(50_000);
  wrong.byMs = 0;

  await run(2 * 60_000);

  expect(received[url]).toEqual(['1/1']);
});

it('a webhook that is down gives up the oldest events when too many wait', async () => {
  const { publish, run, received, observer, counts } = await setUp(
    (_event, at) => (at < hourMs ? down : delivered),
    { maxEvents: 4 },
  );
  await publish('1/1', '2/1', '3/1', '4/1', '5/1', '6/1');
  await run(2 * hourMs);

  expect(received[url]?.toSorted()).toEqual(['3/1', '4/1', '5/1', '6/1']);
  expect(counts()).toMatchObject({ waiting: 0, givenUp: 2, maxEvents: 4 });
  expect(observer.lines).toContainEqual({
    level: 'error',
    message: 'events were given up: more than 4 waited for the webhook',
    fields: { webhook: expect.any(String), events: 2 },
  });
});

it('events that standard output has are not given up', async () => {
  const { publish, run, received, observer } = await setUp(undefined, { maxEvents: 1, unreadBytes: 9_000 });
  await publish('1/1', '2/1', '3/1');
  await run(9 * hourMs);

  expect(received.stdout).toEqual(['1/1', '2/1', '3/1']);
  expect(observer.lines).toEqual([]);
});

it('a warning counts the events that standard output did not take in time', async () => {
  const { publish, run, received, observer, still, log } = await setUp(undefined, { maxEvents: 4 });
  await publish('1/1');
  await run(1_000);
  const gate = Promise.withResolvers<void>();
  still.gate = gate.promise;
  await publish('2/1', '3/1', '4/1', '5/1', '6/1', '7/1');
  await run(0.5 * hourMs);
  const upToNow = log.position('stdout');
  await run(4 * hourMs);
  gate.resolve();
  await run(4.5 * hourMs);
  await publish('8/1');
  await run(5 * hourMs);

  // The write of the second one was under way.
  expect(received.stdout).toEqual(['1/1', '2/1', '8/1']);
  expect(upToNow).toBe(3);
  const given = observer.lines.filter(({ message }) => message.startsWith('events were given up'));
  expect(given.map(({ message, fields }) => [message, fields])).toEqual([
    ['events were given up: more than 4 waited for standard output', { events: 2 }],
    ['events were given up: they waited for standard output for more than 3 hours', { events: 4 }],
  ]);
});

it('readers outlive a state file that cannot be written for a while', async () => {
  const { publish, run, received, log, observer } = await setUp();
  const full = vi.spyOn(log, 'advance').mockRejectedValue(new Error('disk full'));
  await publish('1/1');
  await run(1_000);
  full.mockRestore();
  await publish('2/1');
  await run(20_000);

  const all = ['1/1', '2/1'];
  expect(received).toEqual({ stdout: all, [good]: all, [url]: all });
  expect(['stdout', good, url].map(log.position)).toEqual([2, 2, 2]);
  expect(observer.lines.map(({ level }) => level)).toEqual(['error']);
});

it('readers continue after a restart where each stopped', async () => {
  let isRefused = true;
  const { publish, run, received, stop, reopen, sent, broken } = await setUp((event) =>
    isRefused && event === '1/1' ? refused : delivered,
  );
  broken.output = true;
  await publish('1/1', '2/1');
  await run(1_000);
  await stop();
  expect(received).toEqual({ stdout: [], [good]: ['1/1', '2/1'], [url]: ['2/1'] });
  await publish('1/2', '3/1');

  broken.output = isRefused = false;
  await reopen();
  await run(30_000);

  const all = ['1/1', '2/1', '1/2', '3/1'];
  expect(received).toMatchObject({ stdout: all, [good]: all });
  expect(eventsOf(sent).filter((event) => event !== '3/1')).toEqual(['1/1', '1/2']);
  expect(eventsOf(sent)).toContain('3/1');
});

it('a webhook gets the stored signatures, both of them during a rotation', async () => {
  const { publish, run, requests, webhooks } = await setUp();
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
  await publish('1/1');
  await run(1_000);
  await webhooks.setUp(url, { secret: aSecret(1), keepOld: false });
  await webhooks.setUp(url, { secret: aSecret(2), keepOld: true });
  await publish('1/2');
  await run(20_000);
  await webhooks.setUp(url, { keepOld: false });
  await publish('1/3');
  await run(40_000);

  expect([0, 1, 2].map((byte) => isSignedBy(0, byte))).toEqual([true, false, false]);
  expect([0, 1, 2].map((byte) => isSignedBy(1, byte))).toEqual([false, true, true]);
  expect([0, 1, 2].map((byte) => isSignedBy(2, byte))).toEqual([false, false, true]);
});

it('a webhook gets structured CloudEvents when that is its format', async () => {
  const { publish, run, requests, webhooks } = await setUp();
  await webhooks.setUp(url, { secret: aSecret(1), keepOld: false });
  await webhooks.setUp(url, { format: 'cloudevents', keepOld: true });
  await publish('1/1');
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

it('event 2 of an advert is sent only after 1 arrived, others meanwhile', async () => {
  const { publish, run, sent, counts } = await setUp((event, at) =>
    event === '1/1' && at < 20_000 ? refused : delivered,
  );
  await publish('1/1');
  await run(100);
  await publish('1/2', '2/1');
  await run(120_000);

  const order = eventsOf(sent);
  expect(order.indexOf('2/1')).toBeLessThan(order.lastIndexOf('1/1'));
  expect(order.slice(order.indexOf('1/2'))).toEqual(['1/2']);
  expect(order.filter((event) => event === '1/1').length).toBeGreaterThan(2);
  expect(counts()).toMatchObject({ waiting: 0, givenUp: 0 });
});

it('a webhook waits with everything as long as Retry-After asks', async () => {
  const { publish, run, sent } = await setUp((_event, at) =>
    at < 60_000 ? { ...down, retryAfterMs: 60_000 } : delivered,
  );
  await publish('1/1');
  await run(10_000);
  await publish('2/1');
  await run(100_000);

  expect(sent.filter(({ at }) => at < 60_000)).toHaveLength(1);
  expect(new Set(eventsOf(sent))).toEqual(new Set(['1/1', '2/1']));
});

it('a webhook that is down is tried with one event, ever more slowly', async () => {
  let answers = 0;
  const { publish, run, sent, counts } = await setUp(() => (++answers === 2 ? delivered : down));
  await publish(...Array.from({ length: 50 }, (_, advert) => `${advert + 1}/1`));

  await run(hourMs);

  // 8 side by side with the one success; then backoff to half a minute on average at this `random`.
  const together = [...Map.groupBy(sent, ({ at }) => at).values()].map(({ length }) => length);
  expect(Math.max(...together)).toBe(1 + 8);
  expect(sent.length).toBeGreaterThan(60);
  expect(sent.length).toBeLessThan(200);
  expect(counts()?.trouble).toMatchObject({ reason: 'it answered 500', gone: false });
});

it('a webhook that refuses all is failing, and gets all once mended', async () => {
  const { publish, run, sent, received, counts } = await setUp((_event, at) =>
    at < hourMs ? { reason: 'it answered 400', blames: 'event' } : delivered,
  );
  await publish(...Array.from({ length: 200 }, (_, advert) => `${advert + 1}/1`));

  await run(hourMs - 1);
  expect(counts()?.trouble).toMatchObject({ reason: 'it answered 400', gone: false });
  expect(sent.length).toBeLessThan(200);
  await run(hourMs + 2 * 60_000);
  expect(received[url]).toHaveLength(200);
  expect(counts()?.trouble).toBeUndefined();
});

it('events that are refused for ever delay no other by more than a minute', async () => {
  const { publish, run, sent, counts } = await setUp((event) => (event === '8/1' ? delivered : refused));
  await publish(...Array.from({ length: 7 }, (_, advert) => `${advert + 1}/1`));
  await run(hourMs);
  await publish('8/1');
  await run(hourMs + 60_000);

  expect(eventsOf(sent)).toContain('8/1');
  expect(counts()?.waiting).toBe(7);
});

it('what a slow webhook has taken is stored every half minute, sent once', async () => {
  const { publish, run, pace, sent, counts } = await setUp();
  await run(1_000);
  pace.ms = 9_000;
  await publish(...Array.from({ length: 60 }, (_, advert) => `${advert + 1}/1`));

  await run(40_000);
  expect(counts()?.waiting).toBeLessThan(60 - 16);
  await run(200_000);
  expect(counts()?.waiting).toBe(0);
  expect(eventsOf(sent)).toHaveLength(60);
});

it('a refused event is sent again when its Retry-After has passed', async () => {
  const { publish, run, sent } = await setUp((event, at) =>
    event === '1/1' && at < 600_000 ? { ...refused, retryAfterMs: 600_000 } : delivered,
  );
  await publish('1/1', '2/1');

  await run(900_000);

  const times = sent.filter(({ event }) => event === '1/1').map(({ at }) => Math.floor(at / 60_000));
  expect(times).toEqual([0, 10]);
  expect(eventsOf(sent)).toContain('2/1');
});

it('a batch is sent again when its results could not be stored', async () => {
  const { publish, run, sent, webhooks, counts } = await setUp((event, at) =>
    event === '2/1' && at < 10_000 ? { ...refused, retryAfterMs: hourMs } : delivered,
  );
  vi.spyOn(webhooks, 'settle').mockRejectedValueOnce(new Error('locked'));
  await publish('1/1', '2/1');
  await run(0.9 * hourMs);
  expect(eventsOf(sent)).toEqual(['1/1', '1/1', '2/1']);
  await run(2 * hourMs);
  expect(eventsOf(sent)).toEqual(['1/1', '1/1', '2/1', '2/1']);
  expect(counts()).toMatchObject({ waiting: 0 });
});

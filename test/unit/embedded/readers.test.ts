import { Writable } from 'node:stream';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { openReaders } from '../../../embedded/readers.ts';
import type { Attempt } from '../../../embedded/webhooks/request.ts';
import { advertEvent } from '../../../shared/domain/advert-event.ts';
import { Secret } from '../../../shared/domain/secret.ts';
import { openEmbeddedState } from '../../../shared/sqlite/state.ts';
import { createVirtualClock } from '../../helpers/partner-api/virtual-clock.ts';
import { createRecordingObserver } from '../../helpers/recording-observer.ts';
import { changedAdvert } from '../../helpers/records.ts';
import { scratchFolders } from '../../helpers/scratch-folder.ts';

const folder = scratchFolders();
const good = 'https://good.example/hook';
const bad = 'https://bad.example/hook?key=hidden';
const hourMs = 3_600_000;
const delivered: Attempt = { kind: 'delivered' };
const down: Attempt = { kind: 'failed', reason: 'it answered 503', blames: 'subscriber' };

/** Standard output and two webhooks in virtual time. @param answer of the bad one */
async function setUp(answer: (atMs: number) => Attempt, { isOutputBroken = (): boolean => false } = {}) {
  const clock = createVirtualClock();
  const begun = clock.now();
  const state = openEmbeddedState(folder(), { clock });
  const observer = createRecordingObserver();
  const received: Record<string, string[]> = { stdout: [], [good]: [], [bad]: [] };
  const signing = { secrets: [new Secret('whsec_AAAA')] as const, format: 'event' as const };
  const open = () =>
    openReaders({
      ...{ state, observer, clock, retentionHours: 3, onClosed: () => undefined },
      webhooks: [good, bad].map((url) => ({ url, signing })),
      output: new Writable({
        decodeStrings: false,
        write(text: string, _encoding, done) {
          if (isOutputBroken()) return done(new Error('EPIPE'));
          for (const line of text.trim().split('\n'))
            received.stdout?.push(JSON.parse(line).detail.data.advertId);
          done();
        },
      }),
      send: async ({ url, body }) => {
        const attempt = url === bad ? answer(clock.now() - begun) : delivered;
        if (attempt.kind === 'delivered') received[url]?.push(JSON.parse(body).detail.data.advertId);
        return attempt;
      },
    });
  let readers = await open();
  onTestFinished(async () => {
    await readers.stop();
    state.close();
  });
  return {
    ...{ clock, observer, received, state },
    run: (ms: number) => clock.run(begun + ms),
    stop: () => readers.stop(),
    reopen: async () => {
      readers = await open();
    },
    undelivered: () => readers.undelivered(),
    async publish(advertId: string) {
      const seen = { bridge: 'AdvertBridge', status: 'new', previousStatus: null, sequence: 1 };
      const event = advertEvent(changedAdvert({ advertId }), { ...seen, observedAt: clock.now() });
      await readers.events.publish(JSON.stringify(event));
    },
  };
}

describe('the readers of the event log', () => {
  it('receive everything in order, whatever happens to one of them', async () => {
    const { publish, run, received, undelivered } = await setUp(() => ({ kind: 'gone', reason: 'gone' }));
    for (const id of ['1', '2', '3']) await publish(id);
    await run(hourMs);

    expect(received).toEqual({ stdout: ['1', '2', '3'], [good]: ['1', '2', '3'], [bad]: [] });
    expect(undelivered()).toMatchObject([{ url: bad, waiting: 3, trouble: { gone: true, reason: 'gone' } }]);
  });

  it('give up events that are older than the retention, count them, and continue with newer ones', async () => {
    const { publish, run, received, observer, state } = await setUp((at) =>
      at < 3.5 * hourMs ? down : delivered,
    );
    await publish('1');
    await run(hourMs);
    await publish('2');

    await run(4.5 * hourMs);

    expect(received[bad]).toEqual(['2']);
    expect(state.webhooks.list()).toMatchObject([
      { url: bad, waiting: 0, givenUp: 1 },
      { url: good, givenUp: 0 },
    ]);
    expect(observer.lines).toContainEqual({
      level: 'error',
      message: 'events were given up: they waited for the webhook for more than 3 hours',
      fields: { webhook: 'https://bad.example/hook?…', events: 1 },
    });
  });

  it('outlive a state file that cannot be written for a while', async () => {
    const { publish, run, received, state, observer } = await setUp(() => delivered);
    const full = vi.spyOn(state.eventLog, 'advance').mockRejectedValue(new Error('disk full'));
    await publish('1');
    await run(1_000);
    full.mockRestore();
    await publish('2');
    await run(20_000);

    expect(received).toEqual({ stdout: ['1', '2'], [good]: ['1', '2'], [bad]: ['1', '2'] });
    expect(['stdout', good, bad].map((reader) => state.eventLog.unread(reader).waiting)).toEqual([0, 0, 0]);
    expect(observer.lines.map(({ level }) => level)).toEqual(['error']);
  });

  it('continue after a new start, each where it stopped', async () => {
    let isOutputBroken = true;
    const { publish, run, received, stop, reopen } = await setUp((at) => (at < hourMs ? down : delivered), {
      isOutputBroken: () => isOutputBroken,
    });
    await publish('1');
    await run(1_000);
    await stop();
    expect(received).toEqual({ stdout: [], [good]: ['1'], [bad]: [] });

    isOutputBroken = false;
    await reopen();
    await publish('2');
    await run(2 * hourMs);

    expect(received).toEqual({ stdout: ['1', '2'], [good]: ['1', '2'], [bad]: ['1', '2'] });
  });
});

import { beforeEach, expect, it } from 'vitest';
import { createAuditShare } from '../../../../functions/drain/audit-share.ts';
import type { ChangedAdvert } from '../../../../shared/contract/messages.ts';
import { createInMemoryState } from '../../../fakes/state.ts';
import { createManualClock } from '../../../helpers/manual-clock.ts';
import { createRecordingObserver } from '../../../helpers/recording-observer.ts';

const key = { partnerAccount: 'main', generation: 7 };
const minuteMs = 60_000;
const roundsADay = 24 * 60;

const setUp = () => {
  const clock = createManualClock();
  const sent: ChangedAdvert[] = [];
  return { clock, sent, state: createInMemoryState({ clock }), observer: createRecordingObserver() };
};
let { clock, sent, state, observer } = setUp();
let isRefused = false;
beforeEach(() => {
  ({ clock, sent, state, observer } = setUp());
});

const share = (auditSample: number) => {
  let ids = 0;
  return createAuditShare({
    advertHistories: state.advertHistories,
    auditShares: state.auditShares,
    queue: {
      async send(messages) {
        if (isRefused) return new Set(messages.map((message) => message.key));
        sent.push(...messages);
        return new Set();
      },
      depth: async () => 0,
    },
    deadLetters: state.deadLetters,
    observer,
    clock,
    newId: () => `id-${++ids}`,
    settings: { auditSample, maxRequestsPerSecond: 10 },
  });
};

async function publish(count: number): Promise<void> {
  for (let id = 1; id <= count; id += 1) {
    const row = { sequence: 1, status: 'active', envelope: '{}', pending: false, etag: 'absent' };
    await state.advertHistories.write({ ...key, feed: 'adverts', advertId: String(id) }, row);
  }
}

async function rounds(send: ReturnType<typeof share>, count: number): Promise<void> {
  for (let round = 0; round < count; round += 1) {
    await send(key);
    clock.advance(minuteMs);
  }
}

it('the daily audit spreads its sample over a day, with the cause audit', async () => {
  await publish(500);
  const send = share(48);

  await rounds(send, roundsADay / 2);
  const byNoon = sent.length;
  await rounds(send, roundsADay / 2);

  expect(byNoon).toBe(24);
  expect(sent).toHaveLength(48);
  expect(new Set(sent.map(({ cause }) => cause))).toEqual(new Set(['audit']));
});

it.each([
  [100, 50, 50, 100],
  [3, 10, 3, 6],
])('the daily audit of %i adverts, sample %i, sends each once a day', async (...given) => {
  const [count, sample, firstDay, bothDays] = given;
  await publish(count);
  const send = share(sample);

  await rounds(send, roundsADay);
  const byEvening = sent.map(({ advertId }) => advertId);
  await rounds(send, roundsADay);

  expect(byEvening).toHaveLength(firstDay);
  expect(new Set(byEvening).size).toBe(firstDay);
  expect(sent).toHaveLength(bothDays);
  expect(new Set(sent.map(({ advertId }) => advertId)).size).toBe(count);
});

it('the daily audit sends at most four seconds of half the rate a round', async () => {
  await publish(500);
  const send = share(100_000);

  await send(key);
  clock.advance(10 * minuteMs);
  await send(key);

  expect(sent).toHaveLength(1 + 20);
});

it('the daily audit continues where another process ended', async () => {
  await publish(100);
  await rounds(share(1_440), 10);
  await rounds(share(1_440), 10);

  expect(sent.map(({ advertId }) => advertId)).toEqual([...new Set(sent.map(({ advertId }) => advertId))]);
  expect(sent).toHaveLength(20);
});

it('the daily audit warns, and tries again, when the queue accepts nothing', async () => {
  await publish(5);
  const send = share(10);
  isRefused = true;
  await send(key);
  isRefused = false;
  await send(key);

  expect(observer.lines.filter(({ level }) => level === 'warn')).toHaveLength(1);
  expect(sent).toHaveLength(1);
});

import { expect, it } from 'vitest';
import { shownAnswers } from '../../../../operators/operations/status.ts';
import { metrics } from '../../../../shared/contract/names.ts';
import type { Evidence } from '../../../../shared/domain/blame.ts';
import { BridgeFault, type FaultKind } from '../../../../shared/domain/faults.ts';
import { createActivityStore, createAnswers } from '../../../../shared/state/activity.ts';
import { createInMemoryStore } from '../../../fakes/store.ts';
import { createManualClock } from '../../../helpers/manual-clock.ts';
import { createRecordingObserver } from '../../../helpers/recording-observer.ts';

const minuteMs = 60_000;
const ok = { status: 200, fault: undefined, ms: 40, resource: 'main /adverts/1', account: 'main' };
type Noted = Omit<typeof ok, 'status' | 'fault'> & Record<'status' | 'fault', unknown>;

function setUp({ storeEveryMs = 0, maxRequestsPerSecond = 1 } = {}) {
  const store = createInMemoryStore();
  const activity = createActivityStore(store);
  const clock = createManualClock();
  const observer = createRecordingObserver();
  const createProcess = () => {
    const answers = createAnswers({ activity, clock, observer, storeEveryMs, maxRequestsPerSecond });
    const note = ({ status, ms, ...evidence }: Noted) =>
      answers.note({ ...evidence, sentAt: clock.now() - ms } as Evidence, status as number | undefined);
    return { ...answers, note };
  };
  const shown = async () => shownAnswers(await activity.read(), clock.now());
  return { store, clock, observer, createProcess, answers: createProcess(), shown };
}

it('answers are counted by kind, with metric and log line if important', async () => {
  const { answers, observer, shown } = setUp();
  const answered = { ok: [200, 204], 'contract-broken': [200], 'wrong-path': [404], forbidden: [403] };
  const all = { ...answered, 'rate-limited': [429], transient: [500, undefined] };
  for (const [kind, statuses] of Object.entries(all)) {
    const fault = kind === 'ok' ? undefined : new BridgeFault(kind as FaultKind, 'no');
    for (const status of statuses) answers.note({ ...ok, status, fault });
  }
  answers.note({ ...ok, resource: 'main /adverts' });
  await answers.store();

  const counts = { forbidden: 1, 'wrong-path': 1, 'rate-limited': 1, 'contract-broken': 1 };
  expect((await shown())?.counts).toEqual({ ...counts, '5xx': 1, none: 1, ok: 3 });
  const { answers403, answers429, answers4xx, answers5xx, answersNone } = metrics;
  const counted = [answers403, answers429, answers4xx, answers5xx, answersNone].map(observer.counted);
  expect(counted).toEqual([1, 1, 1, 1, 1]);
  // Not of the request that got no answer, nor of the feed.
  expect(observer.counted(metrics.answerMs)).toBe(7 * ok.ms);
  expect([answers.take(), answers.take()]).toMatchObject([{ ok: 3, none: 1, ms: 8 * ok.ms }, {}]);
  expect(observer.lines).toMatchObject([
    { level: 'warn', fields: { status: 403, partnerAccount: 'main', resource: ok.resource } },
    { level: 'warn', fields: { status: 429, partnerAccount: 'main', resource: ok.resource } },
  ]);
});

it('answers of several processes add up, with latency and used rate', async () => {
  const { answers, createProcess, clock, shown } = setUp();
  const other = createProcess();
  for (const process of [answers, other]) {
    for (let sent = 0; sent < 15; sent += 1) process.note(ok);
    await process.store();
  }
  clock.advance(minuteMs);
  answers.note({ ...ok, status: undefined, ms: 10_000 });
  await answers.store();

  expect(await shown()).toEqual({
    counts: { ok: 30, none: 1 },
    meanMs: 40,
    rateUsed: 31 / 900,
    rateUsedAtMost: 0.5,
    maxRequestsPerSecond: 1,
    minutes: [
      { at: '2026-11-20T12:00:00.000Z', counts: { ok: 30 }, meanMs: 40 },
      { at: '2026-11-20T12:01:00.000Z', counts: { none: 1 }, meanMs: null },
    ],
  });
});

it('answers are forgotten after 15 minutes in sums, 30 in the row', async () => {
  const { answers, clock, shown, store } = setUp();
  const minutesOf = async () => {
    const { minutes = {} } = (await createActivityStore(store).read()) ?? {};
    return Object.keys(minutes).length;
  };
  for (let minute = 0; minute < 40; minute += 1) {
    answers.note(ok);
    await answers.store();
    clock.advance(minuteMs);
  }
  expect(await minutesOf()).toBe(30);
  expect(await shown()).toMatchObject({ counts: { ok: 14 }, minutes: { length: 29 } });
  clock.advance(-24 * 60 * minuteMs);
  answers.note(ok);
  await answers.store();
  expect(await minutesOf()).toBe(1);
});

it('answers are stored at most once in the given time', async () => {
  const { answers, clock, store } = setUp({ storeEveryMs: 10_000 });
  const etag = async () => {
    answers.note(ok);
    await answers.store();
    return (await store.get({ kind: 'bridge', name: 'activity' }))?.etag;
  };
  const first = await etag();
  expect(await etag()).toBe(first);
  clock.advance(10_001);
  expect(await etag()).not.toBe(first);
});

it('answers that cannot be stored are lost without an error', async () => {
  const { store, clock, observer, answers, shown } = setUp();
  const lost = createAnswers({
    activity: createActivityStore({ ...store, get: () => Promise.reject(new Error('denied')) }),
    ...{ clock, observer, maxRequestsPerSecond: 1 },
  });
  lost.note({ ...ok, sentAt: clock.now() }, 200);
  await lost.store();
  await store.put({ kind: 'bridge', name: 'activity' }, { minutes: 7 }, 'absent');
  expect(await shown()).toBeNull();
  answers.note(ok);
  await answers.store();
  expect(await shown()).toMatchObject({ counts: { ok: 1 } });
});

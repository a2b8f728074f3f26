import { expect, it } from 'vitest';
import { createServiceClock } from '../../../../shared/partner-api/service-clock.ts';
import { createRecordingObserver } from '../../../helpers/recording-observer.ts';

const nowMs = Date.parse('2026-11-20T12:00:00Z');
const hourMs = 3_600_000;
const dateAt = (ms: number) => new Date(ms).toUTCString();

it.each([
  ['its Date, which is earlier', dateAt(nowMs - 5_000), nowMs - 5_000],
  ['its Date, which is hours earlier', dateAt(nowMs - 23 * hourMs), nowMs - 23 * hourMs],
  ["the bridge's clock where the Date is ahead of it", dateAt(nowMs + 5_000), nowMs],
  ["the bridge's clock where the Date is hours ahead", dateAt(nowMs + 23 * hourMs), nowMs],
  ["the bridge's clock for a Date more than a day ahead", dateAt(nowMs + 25 * hourMs), nowMs],
  ['its Date, which is days earlier', dateAt(nowMs - 26 * hourMs), nowMs - 26 * hourMs],
  ["the bridge's clock for a Date more than a week back", dateAt(nowMs - 169 * hourMs), nowMs],
  ["the bridge's clock for a Date of another age", 'Fri, 31 Dec 9999 23:59:59 GMT', nowMs],
  ["the bridge's clock without a Date", undefined, nowMs],
  ["the bridge's clock for what is no date", 'yesterday', nowMs],
])('the moment of an answer is %s', (_what, date, expected) => {
  expect(createServiceClock(createRecordingObserver())(date, nowMs)).toBe(expected);
});

it.each([
  ['none within ten seconds', [-10, 0, 10], undefined],
  ['one for a clock that is ahead', [15, 15, -15], 15],
  ['one for a Date of another day', [0, -90_000, 15], -90_000],
])('the moment of an answer comes with a warning about the clocks: %s', (_which, offs, offSeconds) => {
  const observer = createRecordingObserver();
  const serviceTimeOf = createServiceClock(observer);

  for (const off of offs) serviceTimeOf(dateAt(nowMs + off * 1_000), nowMs);
  serviceTimeOf('yesterday', nowMs);

  const expected = offSeconds === undefined ? [] : [{ level: 'warn', fields: { offSeconds } }];
  expect(observer.lines).toMatchObject(expected);
});

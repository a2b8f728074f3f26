import { expect, it } from 'vitest';
import { createHalfHour } from '../../../../operators/console/half-hour.ts';

const figures = { Lag: 1, Waiting: 2 };
const answers = {
  ...{ counts: {}, meanMs: null, rateUsed: 0, rateUsedAtMost: 0, maxRequestsPerSecond: 10 },
  minutes: [{ at: '1970-01-01T00:59:00.000Z', counts: { ok: 90, none: 30 }, meanMs: 5 }],
};

it('the plots show lag and waiting at once, and events a step later', () => {
  const halfHour = createHalfHour(3_600_000);
  expect(halfHour.note(3_600_000, figures)).toBe(true);
  expect(halfHour.note(3_601_000, { ...figures, Lag: 9 })).toBe(false);
  halfHour.note(3_610_000, { ...figures, Lag: 5 });
  const { times, series } = halfHour.plots(3_610_000, null);
  expect(times.slice(-2)).toEqual([3_600, 3_610]);
  expect(series.Lag.slice(-3)).toEqual([null, 1, 5]);
  expect(series.Events.slice(-3)).toEqual([null, 0, null]);
});

it('the plots show requests a second of each minute that is over', () => {
  const { series } = createHalfHour(3_600_000).plots(3_610_000, answers);
  expect(series.Requests.slice(-9)).toEqual([0, 2, 2, 2, 2, 2, 2, null, null]);
});

it('the plots count events a minute, also from before the console', () => {
  const halfHour = createHalfHour(3_600_000);
  for (const atMs of [3_585_000, 3_586_000, 3_601_000]) halfHour.countEvent(atMs);
  expect(halfHour.plots(3_610_000, null).series.Events.slice(-5)).toEqual([null, 12, 0, 6, null]);
});

it('the plots begin before the console when those minutes are known', () => {
  const halfHour = createHalfHour(3_630_000);
  halfHour.fill({ atMs: 3_540_000, values: { lag: 9, events: 12 } });
  halfHour.fill({ atMs: 3_600_000, values: { waiting: 4 } });
  const { series } = halfHour.plots(3_630_000, null);
  expect(series.Lag.slice(-11)).toEqual([null, 9, 9, 9, 9, 9, 9, null, null, null, null]);
  expect(series.Waiting.slice(-4)).toEqual([4, 4, 4, null]);
  expect(series.Events.slice(-11)).toEqual([null, 12, 12, 12, 12, 12, 12, 0, 0, 0, null]);
});

it('the plots keep half an hour', () => {
  const halfHour = createHalfHour(0);
  for (let atMs = 0; atMs <= 3_600_000; atMs += 10_000) halfHour.note(atMs, figures);
  const { times, series } = halfHour.plots(3_600_000, null);
  expect(times).toHaveLength(180);
  expect(times.at(0)).toBe(1_810);
  expect(series.Lag.every((lag) => lag === 1)).toBe(true);
});

it('the plots forget what is of a later time when the clock was set back', () => {
  const halfHour = createHalfHour(0);
  halfHour.note(7_200_000, figures);
  halfHour.note(3_600_000, figures);
  expect(halfHour.plots(7_200_000, null).series.Lag.at(-1)).toBeNull();
});

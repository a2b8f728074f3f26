import { expect, it } from 'vitest';
import { createHalfHour } from '../../../console/half-hour.ts';

const figures = { Lag: 1, Waiting: 2, Requests: null };

it('shows each step once it is over, and nothing of the time before it began', () => {
  const halfHour = createHalfHour(3_600_000);
  halfHour.note(3_600_000, figures);
  halfHour.note(3_610_000, { ...figures, Lag: 5 });
  const { times, series } = halfHour.plots(3_620_000);
  expect(times.slice(-2)).toEqual([3_600, 3_610]);
  expect(series.Lag.slice(-3)).toEqual([null, 1, 5]);
  expect(series.Events.slice(-3)).toEqual([null, 0, 0]);
});

it('counts events a minute, also those that were kept from before it began', () => {
  const halfHour = createHalfHour(3_600_000);
  for (const atMs of [3_585_000, 3_586_000, 3_601_000]) halfHour.countEvent(atMs);
  expect(halfHour.plots(3_610_000).series.Events.slice(-4)).toEqual([null, 12, 0, 6]);
});

it('keeps half an hour', () => {
  const halfHour = createHalfHour(0);
  for (let atMs = 0; atMs < 3_600_000; atMs += 10_000) halfHour.note(atMs, figures);
  const { times, series } = halfHour.plots(3_600_000);
  expect(times).toHaveLength(180);
  expect(times[0]).toBe(1_800);
  expect(series.Lag.every((lag) => lag === 1)).toBe(true);
});

it('takes the first figures of a step', () => {
  const halfHour = createHalfHour(0);
  expect(halfHour.note(1_000, figures)).toBe(true);
  expect(halfHour.note(2_000, { ...figures, Lag: 9 })).toBe(false);
  expect(halfHour.plots(10_000).series.Lag.at(-1)).toBe(1);
});

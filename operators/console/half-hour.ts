/** The last half hour, in steps of ten seconds: what the plots show. */
import type { PastMinute } from '../operations/stack-state.ts';
import type { Facts, Plots } from './snapshot.ts';

const stepMs = 10_000;
const steps = 180;

type Figures = Readonly<Record<'Lag' | 'Waiting', number | null>>;
const minuteMs = 60_000;
const stepsAMinute = minuteMs / stepMs;

/** @param nowMs when it begins: nothing else is known of the time before */
export function createHalfHour(nowMs: number) {
  const figures = new Map<number, Figures>();
  const events = new Map<number, number>();
  const stepOf = (atMs: number) => Math.floor(atMs / stepMs);
  const begun = stepOf(nowMs);
  let known = begun;

  /** Also what is of a later time: the clock was set back. */
  function keepUntil(last: number): void {
    for (const series of [figures, events]) {
      for (const step of series.keys()) if (step < last - steps || step > last + 1) series.delete(step);
    }
  }

  return {
    /** An event that was published at `atMs`, also one from before the beginning. */
    countEvent(atMs: number): void {
      const step = stepOf(atMs);
      events.set(step, (events.get(step) ?? 0) + 1);
      known = Math.min(known, step);
    },
    /** Takes over a minute from before the beginning. */
    fill({ atMs, values: { lag, waiting, events: published } }: PastMinute): void {
      const first = stepOf(atMs);
      for (let step = first; step < Math.min(first + stepsAMinute, begun); step += 1) {
        figures.set(step, { Lag: lag ?? null, Waiting: waiting ?? null });
        if (published !== undefined) events.set(step, published / stepsAMinute);
      }
      known = Math.min(known, first);
    },
    /** @returns whether a step has begun with these figures */
    note(atMs: number, noted: Figures): boolean {
      const step = stepOf(atMs);
      const isNew = !figures.has(step);
      if (isNew) figures.set(step, noted);
      if (isNew) keepUntil(step);
      return isNew;
    },
    /** @param answers what the service answered, by the minute: what is not over yet is not shown */
    plots(nowMs: number, answers: Facts['answers']): Plots {
      const last = stepOf(nowMs);
      const requests = requestsOf(answers, nowMs);
      const shown = Array.from({ length: steps }, (_, index) => last - steps + 1 + index);
      const seriesOf = (name: keyof Figures) => shown.map((step) => figures.get(step)?.[name] ?? null);
      return {
        times: shown.map((step) => (step * stepMs) / 1000),
        series: {
          Lag: seriesOf('Lag'),
          Events: shown.map((step) =>
            step < known || step === last ? null : (events.get(step) ?? 0) * stepsAMinute,
          ),
          Waiting: seriesOf('Waiting'),
          Requests: shown.map((step) => requests(step * stepMs)),
        },
      };
    },
  };
}

/** Requests a second, by time. */
function requestsOf(answers: Facts['answers'], nowMs: number): (atMs: number) => number | null {
  const minuteOf = (atMs: number) => Math.floor(atMs / minuteMs);
  const sums = new Map(
    answers?.minutes.map(({ at, counts }) => {
      const sum = Object.values(counts).reduce((total, value) => total + value, 0);
      return [minuteOf(Date.parse(at)), sum];
    }),
  );
  return (atMs) => {
    const minute = minuteOf(atMs);
    return !answers || minute >= minuteOf(nowMs) ? null : (sums.get(minute) ?? 0) / (minuteMs / 1_000);
  };
}

/** The last half hour, in steps of ten seconds: what the plots show. */
import type { PlotName, Plots } from './snapshot.ts';

const stepMs = 10_000;
const steps = 180;

type Figures = Readonly<Record<Exclude<PlotName, 'Events'>, number | null>>;

/** @param nowMs when it begins: nothing else is known of the time before */
export function createHalfHour(nowMs: number) {
  const figures = new Map<number, Figures>();
  const events = new Map<number, number>();
  const stepOf = (atMs: number) => Math.floor(atMs / stepMs);
  let known = stepOf(nowMs);

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
    /** @returns whether a step has begun with these figures */
    note(atMs: number, noted: Figures): boolean {
      const step = stepOf(atMs);
      const isNew = !figures.has(step);
      if (isNew) figures.set(step, noted);
      if (isNew) keepUntil(step);
      return isNew;
    },
    /** @param nowMs the end; its step is not over, so it is not shown */
    plots(nowMs: number): Plots {
      const last = stepOf(nowMs) - 1;
      const shown = Array.from({ length: steps }, (_, index) => last - steps + 1 + index);
      const seriesOf = (name: keyof Figures) => shown.map((step) => figures.get(step)?.[name] ?? null);
      return {
        times: shown.map((step) => (step * stepMs) / 1000),
        series: {
          Lag: seriesOf('Lag'),
          Events: shown.map((step) => (step < known ? null : (events.get(step) ?? 0) * (60_000 / stepMs))),
          Waiting: seriesOf('Waiting'),
          Requests: seriesOf('Requests'),
        },
      };
    },
  };
}

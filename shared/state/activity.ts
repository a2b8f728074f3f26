/** What the service answered in the last half hour, for the whole bridge: one row, to which each process adds now and then. */
import * as v from 'valibot';
import { type MetricName, metrics } from '../contract/names.ts';
import type { Evidence } from '../domain/blame.ts';
import { type Clock, isYoung } from '../domain/clock.ts';
import type { BridgeFault } from '../domain/faults.ts';
import { isOfAdvert } from '../domain/holds.ts';
import type { Observer } from '../ports/observer.ts';
import { type Counters, type Key, type Row, type Store, sumOf, update } from '../ports/store.ts';

const activityRow = v.object({
  /** The rate of the process that wrote last. */
  maxRequestsPerSecond: v.number(),
  /**
   * By minutes since 1970, then by kind: `ok`, `5xx`, `none` (no answer), or the kind of the fault; `ms`: their sum,
   * without `none`.
   */
  minutes: v.record(v.string(), v.record(v.string(), v.number())),
});
export type Activity = v.InferOutput<typeof activityRow>;
export type ActivityStore = ReturnType<typeof createActivityStore>;

const key: Key = { kind: 'bridge', name: 'activity' };
const keptMinutes = 30;

export function createActivityStore(store: Store) {
  return {
    /** Undefined before the first request. A row that cannot be read is as good as none: it is written anew. */
    read: async (): Promise<Activity | undefined> => activityOf(await store.get(key)),

    async add(added: Activity): Promise<void> {
      await update(store, key, (row) => {
        const sums = { ...activityOf(row)?.minutes };
        for (const [minute, counts] of Object.entries(added.minutes))
          sums[minute] = sumOf(sums[minute], counts);
        const newest = Math.max(...Object.keys(added.minutes).map(Number));
        // Minutes of a clock that was ahead are dropped too.
        const recent = Object.entries(sums).filter(
          ([minute]) => Math.abs(newest - Number(minute)) < keptMinutes,
        );
        return { ...added, minutes: Object.fromEntries(recent) };
      });
    },
  };
}

const activityOf = (row: Row | undefined): Activity | undefined =>
  v.is(activityRow, row?.value) ? row.value : undefined;

export type Answers = ReturnType<typeof createAnswers>;

/** Counts the answers that this process receives; one per process. */
export function createAnswers(options: {
  readonly activity: Pick<ActivityStore, 'add'>;
  readonly maxRequestsPerSecond: number;
  readonly observer: Observer;
  readonly clock: Clock;
  /** The least time between two writes of the row. Default 0. */
  readonly storeEveryMs?: number;
}) {
  const { activity, maxRequestsPerSecond, observer, clock, storeEveryMs = 0 } = options;
  let unstored: Record<string, Counters> = {};
  let untaken: Counters = {};
  let storedAtMs = Number.NEGATIVE_INFINITY;

  return {
    note({ account, resource, fault, sentAt }: Evidence, status: number | undefined): void {
      const ms = clock.now() - sentAt;
      const counts = { [answerKind(status, fault)]: 1, ...(status !== undefined && { ms }) };
      const minute = Math.floor(clock.now() / 60_000);
      unstored[minute] = sumOf(unstored[minute], counts);
      untaken = sumOf(untaken, counts);
      const metric = metricOf(status);
      if (metric) observer.count(metric, 1);
      if (isOfAdvert(resource) && status !== undefined) observer.count(metrics.answerMs, Math.max(1, ms));
      if (status === 429 || status === 403)
        observer.warn(`the service answered ${status}`, { status, resource, partnerAccount: account });
    },

    /** What was noted since the last call. */
    take(): Counters {
      const taken = untaken;
      untaken = {};
      return taken;
    },

    /** Stores what was noted, unless something was stored just before. Never rejects: what cannot be stored is lost. */
    async store(): Promise<void> {
      const now = clock.now();
      if (Object.keys(unstored).length === 0 || isYoung(storedAtMs, now, storeEveryMs)) return;
      const minutes = unstored;
      unstored = {};
      storedAtMs = now;
      await activity.add({ maxRequestsPerSecond, minutes }).catch((error: unknown) => {
        observer.info('the counts of the answers could not be stored', { error });
      });
    },
  };
}

function answerKind(status: number | undefined, fault: BridgeFault | undefined): string {
  if (status === undefined) return 'none';
  if (!fault) return 'ok';
  return status >= 500 && fault.code === 'transient' ? '5xx' : fault.code;
}

/** Undefined for a success. */
function metricOf(status: number | undefined): MetricName | undefined {
  if (status === undefined) return metrics.answersNone;
  if (status === 429) return metrics.answers429;
  if (status === 403) return metrics.answers403;
  if (status >= 500) return metrics.answers5xx;
  return status >= 300 ? metrics.answers4xx : undefined;
}

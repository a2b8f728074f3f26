/**
 * A backfill: sends every advert of a list once through the queue and the fan-out, like a change that the feed named. An
 * advert that was never seen gets its first event, one whose status differs its next one, any other none.
 */
import { type EnqueueDeps, enqueuePage } from '../functions/drain/enqueue-page.ts';
import { idsOf } from '../functions/drain/page-ids.ts';
import { type Clock, toInstant } from '../shared/domain/clock.ts';
import type { AdvertSource, BackfillKey, BackfillProgress, Backfills } from '../shared/ports/backfills.ts';
import { neverTheSame } from './list-pages.ts';

export interface BackfillDeps extends EnqueueDeps {
  readonly backfills: Backfills;
  readonly clock: Clock;
  readonly settings: {
    /** Nothing is added while more messages of the partner account wait: changes of the feed wait behind them. */
    readonly maxWaiting: number;
    /** Pause before the queue is looked at again. */
    readonly lookMs: number;
  };
  /** Called at each step. */
  readonly onProgress?: (progress: BackfillProgress, isWaiting: boolean) => void;
}

export interface BackfillOptions {
  /** Stops after the current page; the backfill can be continued later. */
  readonly signal: AbortSignal;
  /** Abandons an unfinished backfill and begins anew. */
  readonly restart: boolean;
}

export interface BackfillResult {
  readonly progress: BackfillProgress;
  /** `taken-over`: another process continues it, or has begun anew; `other-source`: an unfinished backfill has another one. */
  readonly end: 'done' | 'stopped' | 'paused' | 'taken-over' | 'other-source';
}

/** So many conflicts in a row with `--pause` or another process are no accident. */
const maxConflicts = 10;

/**
 * Runs a backfill, or continues an unfinished one of the same source. A page's IDs go to the queue first, then the
 * progress is stored: after a crash in between the page is sent again, and its adverts are found unchanged.
 *
 * @throws {PartnerError} what the source throws, or `transient` when the queue did not accept everything; the backfill can
 * be continued
 */
export async function backfill(
  deps: BackfillDeps,
  key: BackfillKey,
  source: AdvertSource,
  { signal, restart }: BackfillOptions,
): Promise<BackfillResult> {
  const { clock, settings, queue, onProgress = () => undefined } = deps;
  const begun = await begin(deps, key, source, restart);
  if ('end' in begun) return begun;
  const run: Run = { deps, key, ...begun };
  const pages = neverTheSame(source);
  const seen = new Set<string>();
  for (;;) {
    onProgress(run.progress, false);
    if (signal.aborted) return { end: 'stopped', progress: run.progress };
    if ((await queue.depth(key.partnerAccount)) > settings.maxWaiting) {
      onProgress(run.progress, true);
      await clock.sleep(settings.lookMs, signal);
      // Somebody may pause it while it waits.
      const stored = await deps.backfills.read(key);
      if (stored && stored.version !== run.version) return endOf(stored.value, run.progress);
      continue;
    }
    const page = await pages.page(run.progress.position);
    const found = idsOf(page?.data ?? []);
    const ids = found.ids.filter((id) => !seen.has(id));
    for (const id of ids) seen.add(id);
    if (ids.length > 0) {
      // Malformed entries are no dead letters: the list does not say that they changed.
      const listed = { ...found, ids, malformed: 0 };
      await enqueuePage(deps, { ...key, feed: 'adverts' }, listed, {
        receivedAt: clock.now(),
        cause: 'backfill',
      });
    }
    const { progress } = run;
    const next: BackfillProgress = {
      ...progress,
      state: page ? 'running' : 'done',
      position: page?.next ?? progress.position,
      listed: progress.listed + ids.length,
      malformed: progress.malformed + found.malformed,
    };
    const stored = await store(run, next, ids.length);
    if (stored) return stored;
    if (!page) return { end: 'done', progress: next };
  }
}

interface Run {
  readonly deps: BackfillDeps;
  readonly key: BackfillKey;
  progress: BackfillProgress;
  version: number;
}

async function begin(
  { backfills, clock, newId }: BackfillDeps,
  key: BackfillKey,
  source: AdvertSource,
  restart: boolean,
): Promise<Pick<Run, 'progress' | 'version'> | BackfillResult> {
  for (let conflicts = 0; conflicts < maxConflicts; conflicts += 1) {
    const stored = await backfills.read(key);
    const unfinished = stored && stored.value.state !== 'done' && !restart ? stored.value : undefined;
    if (unfinished && unfinished.source !== source.name) return { end: 'other-source', progress: unfinished };
    const progress: BackfillProgress = unfinished
      ? { ...unfinished, state: 'running' }
      : {
          id: newId(),
          state: 'running',
          source: source.name,
          position: 0,
          listed: 0,
          malformed: 0,
          startedAt: toInstant(clock.now()),
        };
    const version = stored?.version ?? 0;
    if (await backfills.write(key, progress, version, 0)) return { progress, version: version + 1 };
  }
  throw new Error('too many others write the progress of this backfill');
}

/** Stores the progress. After a conflict the page is counted all the same, for it is in the queue. */
async function store(run: Run, next: BackfillProgress, listed: number): Promise<BackfillResult | undefined> {
  const { backfills } = run.deps;
  if (await backfills.write(run.key, next, run.version, listed)) {
    run.progress = next;
    run.version += 1;
    return undefined;
  }
  for (let conflicts = 0; conflicts < maxConflicts; conflicts += 1) {
    const stored = await backfills.read(run.key);
    if (!stored) break;
    const { value, version } = stored;
    const isOurs = value.id === run.progress.id && value.position === run.progress.position;
    // A pause keeps the position of the page that was just sent; another process's own progress stays as it is.
    const merged = isOurs ? { ...next, state: next.state === 'done' ? next.state : value.state } : value;
    if (!(await backfills.write(run.key, merged, version, listed))) continue;
    if (!isOurs || merged.state !== 'running') return endOf(merged, next);
    // Another process has begun to go on from the same place, and steps back when it finds this one ahead.
    run.progress = merged;
    run.version = version + 1;
    return undefined;
  }
  return { end: 'taken-over', progress: next };
}

function endOf(stored: BackfillProgress, own: BackfillProgress): BackfillResult {
  if (stored.id === own.id && stored.state !== 'running') return { end: stored.state, progress: stored };
  return { end: 'taken-over', progress: stored };
}

/** Asks a running backfill to stop after its current page. @returns undefined when none is running */
export async function pauseBackfill(
  backfills: Backfills,
  key: BackfillKey,
): Promise<BackfillProgress | undefined> {
  for (let conflicts = 0; conflicts < maxConflicts; conflicts += 1) {
    const stored = await backfills.read(key);
    if (stored?.value.state !== 'running') return stored?.value.state === 'paused' ? stored.value : undefined;
    const paused: BackfillProgress = { ...stored.value, state: 'paused' };
    if (await backfills.write(key, paused, stored.version, 0)) return paused;
  }
  throw new Error('too many others write the progress of this backfill');
}

/**
 * A backfill sends every advert of a list once through the queue and the fan-out, as if the feed had listed it. An
 * advert without an event gets its first event, an advert whose status differs gets its next event, and any other
 * gets none.
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
    /**
     * Nothing is added while more messages of the partner account wait, because changes from the feed wait behind
     * them.
     */
    readonly maxWaiting: number;
    /** Delay before the queue is checked again. */
    readonly lookMs: number;
  };
  /** Called at each step. */
  readonly onProgress?: (progress: BackfillProgress, isWaiting: boolean) => void;
}

export interface BackfillOptions {
  /** Stops after the current page; the backfill can be continued later. */
  readonly signal: AbortSignal;
  /** Abandons an unfinished backfill and starts a new one. */
  readonly restart: boolean;
}

export interface BackfillResult {
  readonly progress: BackfillProgress;
  /**
   * `taken-over`: another process has continued this backfill, or has started a new one. `other-source`: the unfinished
   * backfill has another source.
   */
  readonly end: 'done' | 'stopped' | 'paused' | 'taken-over' | 'other-source';
}

/** More consecutive conflicts with `--pause` or another process cannot be a coincidence. */
const maxConflicts = 10;

/**
 * Runs a backfill, or continues an unfinished one of the same source. A page's IDs go to the queue first, then the
 * progress is stored: after a crash in between, the page is sent again and its adverts are found unchanged.
 *
 * @throws {PartnerError} the errors of the source, or `transient` when the queue did not accept everything; the
 * backfill can be continued
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
      // The backfill may be paused while it waits.
      const stored = await deps.backfills.read(key);
      if (stored && stored.version !== run.version) return endOf(stored.value, run.progress);
      continue;
    }
    const page = await pages.page(run.progress.position);
    const found = idsOf(page?.data ?? []);
    const ids = found.ids.filter((id) => !seen.has(id));
    for (const id of ids) seen.add(id);
    if (ids.length > 0) {
      // Malformed entries are not dead-lettered, because the list does not say that they changed.
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

/** Stores the progress. The page is counted even after a conflict, because it is in the queue. */
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
    // A pause keeps the position of the page that was just sent; the progress of another process stays unchanged.
    const merged = isOurs ? { ...next, state: next.state === 'done' ? next.state : value.state } : value;
    if (!(await backfills.write(run.key, merged, version, listed))) continue;
    if (!isOurs || merged.state !== 'running') return endOf(merged, next);
    // Another process has started to continue from the same position; it stops when it sees that this one is ahead.
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

/**
 * A backfill: looks at every advert of a list once, through the queue and the fan-out, like a change that the feed
 * named. So an advert that was never seen gets its first event, one whose status differs its next one, any other none.
 */
import { advertIdPattern } from '../shared/contract/checks.ts';
import type { ChangedAdvert } from '../shared/contract/messages.ts';
import { type Clock, toInstant } from '../shared/domain/clock.ts';
import { PartnerError } from '../shared/domain/faults.ts';
import type { AdvertSource, SourcePage } from '../shared/ports/advert-source.ts';
import type { BackfillKey, BackfillProgress, Backfills } from '../shared/ports/backfills.ts';
import type { ChangedAdvertsQueue } from '../shared/ports/changed-adverts-queue.ts';

export interface BackfillDeps {
  readonly backfills: Backfills;
  readonly queue: ChangedAdvertsQueue;
  readonly clock: Clock;
  /** A fresh ID of at most 64 characters, never one given before. */
  readonly newId: () => string;
  readonly settings: {
    /** Name of the feed that the messages are as if from. */
    readonly feed: string;
    /** While so many messages of the partner account wait nothing is added: changes of the feed stand behind them. */
    readonly maxWaiting: number;
    /** Pause before the queue is looked at again. */
    readonly lookMs: number;
  };
  /** Told of each step. */
  readonly onProgress?: (progress: BackfillProgress, waiting: boolean) => void;
}

export interface BackfillOptions {
  /** Ends it after the page in hand; it can go on later. */
  readonly signal: AbortSignal;
  /** Leaves an unfinished one aside and begins anew. */
  readonly restart: boolean;
}

export type BackfillResult = { readonly progress: BackfillProgress } & (
  | { readonly end: 'done' | 'stopped' | 'paused' }
  /** Another process goes on with it, or has begun anew. */
  | { readonly end: 'taken-over' }
  /** An unfinished one has another source. */
  | { readonly end: 'other-source' }
);

/** So many conflicts with `--pause` or another process are no accident. */
const maxConflicts = 10;

/**
 * Runs a backfill, or goes on with an unfinished one of the same source. A page's IDs go to the queue first, then the
 * progress is stored: after a crash in between the page is listed again, and its adverts are found unchanged.
 *
 * @throws {PartnerError} what the source throws, or `passing` when the queue did not accept everything; it can go on
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
  const seen = new Set<string>();
  let before: readonly unknown[] = [];
  for (;;) {
    onProgress(run.progress, false);
    if (signal.aborted) return { end: 'stopped', progress: run.progress };
    if ((await queue.depth(key.partnerAccount)) > settings.maxWaiting) {
      onProgress(run.progress, true);
      await clock.sleep(settings.lookMs, signal);
      // `--pause` is heard while waiting, too.
      const stored = await deps.backfills.read(key);
      if (stored && stored.version !== run.version) return endOf(stored.value, run.progress);
      continue;
    }
    const page = await source.page(run.progress.position);
    if (page && isRepeated(page, before)) {
      throw new PartnerError(
        'contract-broken',
        'the advert list gave the same page again: it is paged in another way than assumed',
      );
    }
    before = page?.data ?? [];
    const { ids, malformed } = sorted(page, seen);
    await send(run, ids);
    const { progress } = run;
    const next: BackfillProgress = {
      ...progress,
      state: page ? 'running' : 'done',
      position: page?.next ?? progress.position,
      listed: progress.listed + ids.length,
      malformed: progress.malformed + malformed,
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

/** @throws {PartnerError} when the queue did not accept everything; nothing may be stored then */
async function send({ deps, key }: Run, ids: readonly string[]): Promise<void> {
  const { clock, newId, queue, settings } = deps;
  if (ids.length === 0) return;
  // Fresh for each page read: the fan-out finds its own work again by the key.
  const readId = newId();
  const listedAt = toInstant(clock.now());
  const refused = await queue.send(
    ids.map(
      (advertId): ChangedAdvert => ({
        key: `${readId}:${advertId}`,
        ...key,
        feed: settings.feed,
        advertId,
        listedAt,
        cause: 'backfill',
        correlationId: readId,
      }),
    ),
  );
  if (refused.size === 0) return;
  throw new PartnerError('transient', `the queue did not accept ${refused.size} of ${ids.length} messages`);
}

/** Stores the progress; where somebody else wrote, the page is counted all the same, for it is in the queue. */
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
    // Paused, it is at the page that was just sent; another process's own progress is not to be moved.
    const merged = isOurs ? { ...next, state: next.state === 'done' ? next.state : value.state } : value;
    if (await backfills.write(run.key, merged, version, listed)) return endOf(merged, next);
  }
  return { end: 'taken-over', progress: next };
}

function endOf(stored: BackfillProgress, own: BackfillProgress): BackfillResult {
  if (stored.id === own.id && stored.state !== 'running') return { end: stored.state, progress: stored };
  return { end: 'taken-over', progress: stored };
}

/** Asks a backfill that is running to stop after the page in hand. @returns undefined when none is */
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

/** The page's IDs that this run has not sent yet, and how many entries are none. */
function sorted(page: SourcePage | undefined, seen: Set<string>) {
  const ids: string[] = [];
  let malformed = 0;
  for (const entry of page?.data ?? []) {
    if (typeof entry !== 'string' || !advertIdPattern.test(entry)) malformed += 1;
    else if (!seen.has(entry)) {
      seen.add(entry);
      ids.push(entry);
    }
  }
  return { ids, malformed };
}

const isRepeated = ({ data }: SourcePage, before: readonly unknown[]): boolean =>
  data.length > 0 && data.length === before.length && data.every((entry, index) => entry === before[index]);

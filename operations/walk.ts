/**
 * A walk sends every advert of a source once through the queue and the fan-out, as if the feed had listed it. An
 * advert without an event gets its first event, an advert whose status differs gets its next event, and any other
 * gets none. Backfill and audit are walks.
 */
import { enqueuePage } from '../functions/drain/accept-page.ts';
import { idsOf } from '../functions/drain/read-page.ts';
import type { Cause } from '../shared/contract/events.ts';
import type { ChangedAdvert } from '../shared/contract/messages.ts';
import { toInstant } from '../shared/domain/clock.ts';
import type {
  AdvertSource,
  BackfillKey,
  BackfillProgress,
  Progresses,
  StoredProgress,
} from '../shared/state/progress.ts';
import { neverTheSame } from './advert-sources.ts';
import type { Bridge } from './bridge.ts';
import { silentObserver } from './poll-deps.ts';

export interface WalkedBridge extends Pick<Bridge, 'clock' | 'newId'> {
  readonly queue: Pick<Bridge['queue'], 'send' | 'depth'>;
  readonly deadLetters: Pick<Bridge['deadLetters'], 'sendMalformed'>;
}

/** What distinguishes one kind of walk from another. */
export interface Walk<P extends BackfillProgress> {
  readonly progresses: Progresses<P>;
  /** Delay before the queue is checked again. */
  readonly lookMs: number;
  readonly cause: Cause;
  /** The progress of a walk that begins. */
  readonly first: (begun: BackfillProgress) => P;
  /** Looks at the messages that were sent before, and decides what to do next. */
  readonly look: (progress: P, isThrough: boolean) => Promise<Look<P>>;
  /** Adds the messages of a page to the progress. */
  readonly sent?: (progress: P, messages: readonly ChangedAdvert[]) => Promise<P>;
  /** What happens to an unfinished walk of another source. */
  readonly otherSource: 'refuse' | 'replace';
}

export interface Look<P> {
  readonly progress: P;
  /** `send`: the next page, or the end after the last one. `stop`: nothing has happened for too long. */
  readonly next: 'send' | 'wait' | 'stop';
}

export interface WalkOptions<P> {
  /** Stops after the current page; the walk can be continued later. */
  readonly signal: AbortSignal;
  /** Abandons an unfinished walk and starts a new one. */
  readonly restart?: boolean;
  /** Called at each step. */
  readonly onProgress?: (progress: P, isWaiting: boolean) => void;
}

export interface WalkResult<P> {
  readonly progress: P;
  /**
   * `stuck`: nothing has happened for too long. `taken-over`: another process has continued this walk, or has started
   * a new one. `other-source`: the unfinished walk has another source.
   */
  readonly end: 'done' | 'stopped' | 'stuck' | 'paused' | 'taken-over' | 'other-source';
}

/** More consecutive conflicts with `--stop` or another process cannot be a coincidence. */
const maxConflicts = 10;

interface Run<P extends BackfillProgress> {
  readonly bridge: WalkedBridge;
  readonly kind: Walk<P>;
  readonly key: BackfillKey;
  readonly options: WalkOptions<P>;
  progress: P;
  stored: StoredProgress<P>;
}

/**
 * Runs a walk, or continues an unfinished one of the same source. A page's IDs go to the queue first, then the progress
 * is stored: after a crash in between, the page is sent again and its adverts are found unchanged.
 *
 * @throws {BridgeFault} the errors of the source, or `transient` when the queue did not accept everything; the walk
 * can be continued
 */
export async function walk<P extends BackfillProgress>(
  bridge: WalkedBridge,
  kind: Walk<P>,
  key: BackfillKey,
  source: AdvertSource,
  options: WalkOptions<P>,
): Promise<WalkResult<P>> {
  const begun = await begin(bridge, kind, key, source, options.restart === true);
  if ('end' in begun) return begun;
  const run: Run<P> = { bridge, kind, key, options, ...begun };
  try {
    return await pages(run, source);
  } catch (error) {
    if (!options.signal.aborted) throw error;
    return (await store(run, run.progress, 0)) ?? { end: 'stopped', progress: run.progress };
  }
}

async function pages<P extends BackfillProgress>(run: Run<P>, source: AdvertSource): Promise<WalkResult<P>> {
  const { bridge, kind, key, options } = run;
  const { clock } = bridge;
  const seen = new Set<string>();
  let isThrough = false;
  for (;;) {
    options.signal.throwIfAborted();
    const { progress, next } = await kind.look(run.progress, isThrough);
    run.progress = progress;
    if (!isThrough) options.onProgress?.(progress, next === 'wait');
    if (next === 'stop') {
      return (await store(run, progress, 0)) ?? { end: 'stuck', progress };
    }
    if (next === 'wait') {
      await clock.sleep(kind.lookMs);
      // The walk may be paused while it waits.
      const stored = await kind.progresses.read(key);
      if (stored && stored.etag !== run.stored.etag) return endOf(stored.value, progress);
      continue;
    }
    if (isThrough) {
      const done: P = { ...progress, state: 'done' };
      return (await store(run, done, 0)) ?? { end: 'done', progress: done };
    }
    const page = await source.page(progress.position);
    isThrough = page === undefined;
    if (!page) continue;
    const found = idsOf(page.data);
    const ids = found.ids.filter((id) => !seen.has(id));
    for (const id of ids) seen.add(id);
    // Malformed entries are not dead-lettered, because the list does not say that they changed.
    const listed = { ...found, ids, malformed: 0 };
    const origin = { receivedAt: clock.now(), cause: kind.cause };
    const deps = { ...bridge, newId: () => bridge.newId(), observer: silentObserver };
    const messages = await enqueuePage(deps, { ...key, feed: 'adverts' }, listed, origin);
    const moved: P = {
      ...progress,
      position: page.next,
      listed: progress.listed + ids.length,
      malformed: progress.malformed + found.malformed,
    };
    const stored = await store(run, (await kind.sent?.(moved, messages)) ?? moved, ids.length);
    if (stored) return stored;
  }
}

/**
 * Stores what `next` makes of the stored progress, again after a conflict: the only way in which a walk writes.
 *
 * @param listed number of adverts to count: those of the page that is in the queue, also after a conflict
 * @param next returns undefined to write nothing
 * @returns what is stored then; undefined if nothing is
 */
async function change<P extends BackfillProgress>(
  progresses: Progresses<P>,
  { key, listed }: { readonly key: BackfillKey; readonly listed: number },
  next: (stored: P | undefined) => P | undefined,
): Promise<StoredProgress<P> | undefined> {
  for (let conflicts = 0; conflicts < maxConflicts; conflicts += 1) {
    const stored = await progresses.read(key);
    const value = next(stored?.value);
    if (value === undefined) return stored;
    const written = await progresses.write(key, value, stored, listed);
    if (written) return written;
  }
  throw new Error('too many others write this progress');
}

async function begin<P extends BackfillProgress>(
  bridge: WalkedBridge,
  { progresses, first, otherSource }: Walk<P>,
  key: BackfillKey,
  source: AdvertSource,
  restart: boolean,
): Promise<Pick<Run<P>, 'progress' | 'stored'> | WalkResult<P>> {
  const total = await source.total?.();
  const stored = await change(progresses, { key, listed: 0 }, (before) => {
    const unfinished = before && before.state !== 'done' && !restart ? before : undefined;
    if (unfinished?.source === source.name) return { ...unfinished, state: 'running' };
    if (unfinished && otherSource === 'refuse') return undefined;
    return first({
      id: bridge.newId(),
      state: 'running',
      source: source.name,
      position: 0,
      listed: 0,
      malformed: 0,
      startedAt: toInstant(bridge.clock.now()),
      ...(total !== undefined && { total }),
    });
  });
  if (!stored) throw new Error('the progress was removed');
  const { value: progress } = stored;
  return progress.source === source.name ? { progress, stored } : { end: 'other-source', progress };
}

/** Stores the progress. @returns the end of the walk, if this is one */
async function store<P extends BackfillProgress>(
  run: Run<P>,
  next: P,
  listed: number,
): Promise<WalkResult<P> | undefined> {
  const { id, position } = run.progress;
  let isOurs = false;
  const stored = await change(run.kind.progresses, { key: run.key, listed }, (value) => {
    // Another process may have started to continue from the same position; it stops when it sees that this one is ahead.
    isOurs = value?.id === id && value.position === position;
    // A pause keeps the position of the page that was just sent; the progress of another process stays unchanged.
    return value && isOurs ? { ...next, state: next.state === 'done' ? next.state : value.state } : value;
  });
  if (!stored) return { end: 'taken-over', progress: next };
  if (!isOurs || stored.value.state !== 'running') return endOf(stored.value, next);
  run.progress = stored.value;
  run.stored = stored;
  return undefined;
}

function endOf<P extends BackfillProgress>(stored: P, own: P): WalkResult<P> {
  if (stored.id === own.id && stored.state !== 'running') return { end: stored.state, progress: stored };
  return { end: 'taken-over', progress: stored };
}

/** Asks a running walk to stop after its current page. @returns undefined when none is running */
export async function pauseWalk<P extends BackfillProgress>(
  progresses: Progresses<P>,
  key: BackfillKey,
): Promise<P | undefined> {
  const stored = await change(progresses, { key, listed: 0 }, (value) =>
    value?.state === 'running' ? { ...value, state: 'paused' } : undefined,
  );
  return stored?.value.state === 'paused' ? stored.value : undefined;
}

/** A backfill: every advert of a list is fetched once, and gets an event if it has none or if its latest one differs. */

/** Live changes wait behind at most this many messages and one page: about a minute at the default rate. */
const maxWaiting = 500;

/** @throws {BridgeFault} as `walk` does; the backfill can be continued */
export function backfill(
  bridge: WalkedBridge & Pick<Bridge, 'backfills' | 'isDelivering'>,
  key: BackfillKey,
  source: AdvertSource,
  options: WalkOptions<BackfillProgress>,
): Promise<WalkResult<BackfillProgress>> {
  const kind = {
    progresses: bridge.backfills,
    lookMs: 1_000,
    cause: 'backfill',
    otherSource: 'refuse',
    first: (begun: BackfillProgress) => begun,
    async look(progress: BackfillProgress, isThrough: boolean) {
      const isFull = !isThrough && (await bridge.queue.depth(key.partnerAccount)) > maxWaiting;
      if (!isFull) return { progress, next: 'send' } as const;
      return { progress, next: bridge.isDelivering() ? 'wait' : 'stop' } as const;
    },
  } as const;
  return walk(bridge, kind, key, neverTheSame(source), options);
}

/**
 * A walk sends every advert of a source once through the queue and the fan-out, as if the feed had listed it. An
 * advert without an event gets its first event, an advert whose status differs gets its next event, and any other
 * gets none. Backfill and audit are walks.
 */
import { enqueuePage } from '../../functions/drain/accept-page.ts';
import { idsOf } from '../../functions/drain/read-page.ts';
import type { ChangedAdvert } from '../../shared/contract/messages.ts';
import { toInstant } from '../../shared/domain/clock.ts';
import type { BackfillKey, BackfillProgress, Progresses } from '../../shared/state/progress.ts';
import type { AdvertSource, SourcePage } from './advert-sources.ts';
import { type Bridge, isDelivering, silentObserver } from './bridge.ts';
import { failed } from './errors.ts';

export interface Walk<P extends BackfillProgress> {
  readonly cause: 'backfill' | 'audit';
  readonly progresses: Progresses<P>;
  /** What the progress of a new walk has besides that of a backfill. */
  readonly begun: Omit<P, keyof BackfillProgress>;
  /** A new walk replaces an unfinished one of another source; otherwise it is refused. */
  readonly replacesOther: boolean;
  /**
   * Before each page, and before the end. `stop`: nothing has happened for too long.
   *
   * @param isThrough the source has no more pages
   */
  readonly look: (
    progress: P,
    isThrough: boolean,
  ) => Promise<{ readonly progress: P; readonly next: 'go-on' | 'wait' | 'stop' }>;
  readonly sent: (progress: P, messages: readonly ChangedAdvert[]) => Promise<P>;
}

export interface WalkOptions<P> {
  readonly key: BackfillKey;
  readonly source: AdvertSource;
  /** Stops after the current page; the walk can be continued later. */
  readonly signal: AbortSignal;
  /** Abandons an unfinished walk and starts a new one. */
  readonly restart?: boolean;
  readonly onProgress?: (progress: P, isWaiting: boolean) => void;
}

export interface WalkResult<P> {
  readonly progress: P;
  /**
   * `stuck`: nothing has happened for too long. `taken-over`: another process has continued this walk, or has started
   * a new one.
   */
  readonly end: 'done' | 'stopped' | 'stuck' | 'taken-over';
}

const lookMs = 500;

/**
 * Runs a walk, or continues an unfinished one of the same source. A page's IDs go to the queue first, then the progress
 * is stored: after a crash in between, the page is sent again and its adverts are found unchanged.
 *
 * @throws {BridgeFault} the errors of the source, or `transient` when the queue did not accept everything; the walk
 * can be continued
 * @throws {CommandError} when the unfinished walk has another source
 */
export async function walk<P extends BackfillProgress>(
  bridge: Bridge,
  { cause, progresses, begun, replacesOther, look, sent }: Walk<P>,
  { key, source, signal, restart = false, onProgress }: WalkOptions<P>,
): Promise<WalkResult<P>> {
  const { clock } = bridge;
  const { name, total } = source;
  // It is stored with the progress. Another process that continues the walk stores its own, and this one ends.
  const id = bridge.newId();
  const written = await progresses.change(key, 0, (before) => {
    const unfinished = before?.state === 'done' || restart ? undefined : before;
    if (unfinished?.source === name) return { ...unfinished, id, state: 'running' };
    if (unfinished && !replacesOther) return undefined;
    const startedAt = toInstant(clock.now());
    const counts = { position: 0, listed: 0, malformed: 0, ...(total !== undefined && { total }) };
    return { id, state: 'running', source: name, startedAt, ...counts, ...begun } as P;
  });
  let progress = written as P;
  if (progress.id !== id) {
    const { startedAt, source } = progress;
    throw failed('other-source', { cause, name: key.partnerAccount, startedAt, source });
  }

  const takenOver = (stored: P | undefined): WalkResult<P> | undefined =>
    stored?.id === id ? undefined : { end: 'taken-over', progress: stored ?? progress };

  /** @returns the end of the walk, if another process has it now */
  async function save(next: P, listed = 0): Promise<WalkResult<P> | undefined> {
    progress = next;
    return takenOver(await progresses.change(key, listed, (before) => (before?.id === id ? next : before)));
  }

  const seen = new Set<string>();
  async function send({ data, next: position }: SourcePage): Promise<WalkResult<P> | undefined> {
    const found = idsOf(data);
    const ids = found.ids.filter((advertId) => !seen.has(advertId));
    for (const advertId of ids) seen.add(advertId);
    const messages = await enqueuePage(
      { ...bridge, observer: silentObserver },
      { ...key, feed: 'adverts' },
      // Malformed entries are not dead-lettered, because the list does not say that they changed.
      { ...found, ids, malformed: 0 },
      { receivedAt: clock.now(), cause },
    );
    const listed = progress.listed + ids.length;
    const malformed = progress.malformed + found.malformed;
    return save(await sent({ ...progress, position, listed, malformed }, messages), ids.length);
  }

  const pages = source.pages(progress.position);
  let page: IteratorResult<SourcePage> | undefined;
  while (!signal.aborted) {
    page ??= await pages.next();
    const looked = await look(progress, page.done === true);
    progress = looked.progress;
    onProgress?.(progress, looked.next === 'wait');
    if (looked.next === 'stop') return (await save(progress)) ?? { end: 'stuck', progress };
    let end: WalkResult<P> | undefined;
    if (looked.next === 'wait') {
      await clock.sleep(lookMs);
      end = takenOver(await progresses.read(key));
    } else {
      if (page.done) return (await save({ ...progress, state: 'done' })) ?? { end: 'done', progress };
      end = await send(page.value);
      page = undefined;
    }
    if (end) return end;
  }
  return (await save(progress)) ?? { end: 'stopped', progress };
}

/** Live changes wait behind so many seconds of the rate and one page: half of what a feed is read ahead, or it is not read. */
const waitingSeconds = 15;

/** Fetches every advert of a list once: it gets an event if it has none or if its latest one differs. */
export async function backfill(bridge: Bridge, options: WalkOptions<BackfillProgress>) {
  const maxWaiting = waitingSeconds * (await bridge.settings()).maxRequestsPerSecond;
  return walk(
    bridge,
    {
      cause: 'backfill',
      progresses: bridge.backfills,
      replacesOther: false,
      begun: {},
      sent: async (progress) => progress,
      async look(progress, isThrough) {
        const isFull = !isThrough && (await bridge.queue.depth(options.key.partnerAccount)) > maxWaiting;
        if (!isFull) return { progress, next: 'go-on' };
        return { progress, next: isDelivering(bridge) ? 'wait' : 'stop' };
      },
    },
    options,
  );
}

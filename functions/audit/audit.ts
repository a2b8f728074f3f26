/**
 * An audit: compares the last published status of adverts with their current status at the service. It can also publish
 * the adverts that differ again.
 */
import { toInstant } from '../../shared/domain/clock.ts';
import { forEachConcurrent } from '../../shared/domain/for-each-concurrent.ts';
import type { AdvertHistories } from '../../shared/ports/advert-histories.ts';
import type { AdvertReader } from '../../shared/ports/advert-reader.ts';
import type { AuditProgress, Audits, Difference, Look, OpenLooks } from '../../shared/ports/audits.ts';
import type { BackfillKey } from '../../shared/ports/backfills.ts';
import type { PollDeps } from '../drain/poll-feed.ts';
import { type UnreadDeps, unreadSince } from '../drain/unread-since.ts';
import { type Confirmed, confirm, dueAt, type IsSettled, looksAtOnce } from './confirm.ts';
import { askFeed, isEqual, lookAt } from './looks.ts';
import { createPacedRequests, OutOfTimeError, type PacedRequests, sleepFor } from './paced-requests.ts';
import type { AuditPage, AuditSource } from './sources.ts';

export interface AuditDeps {
  /** Dependencies for reading the feed. */
  readonly poll: UnreadDeps &
    Pick<PollDeps, 'reader' | 'newId'> & {
      readonly settings: Pick<PollDeps['settings'], 'maxRequestsPerSecond'>;
    };
  readonly audits: Audits;
  readonly histories: Pick<AdvertHistories, 'read'>;
  readonly adverts: AdvertReader;
  readonly isSettled: IsSettled;
  /** Whether a consumer is currently taking messages from the queue. */
  readonly isDelivering: () => boolean;
  readonly onProgress?: (step: AuditStep) => void;
}

export interface AuditStep {
  readonly checked: number;
  /** Differences found so far. */
  readonly found: number;
  /** What the audit waits for. `service`: the service asked for a pause, or fails. */
  readonly waitsFor?: 'feed' | 'service';
  /** Minimum remaining time of the wait for the feed, after which differences can be distinguished from new changes. */
  readonly leftMs?: number;
}

export interface AuditOptions {
  /** Stops the audit, which can be continued later. */
  readonly signal: AbortSignal;
  /** Puts adverts that differ into the queue. Default: differences are only reported. */
  readonly repair?: ((advertIds: readonly string[]) => Promise<void>) | undefined;
  /** Ms since 1970: work that is not done by then is left to the next call. Default: no deadline. */
  readonly deadlineMs?: number | undefined;
  /** Differences found by the previous audit, with which a new audit begins. Default: none. */
  readonly keeps?: readonly Difference[];
}

export interface AuditResult {
  readonly end:
    | 'done'
    | 'stopped'
    /** The deadline has passed. */
    | 'out-of-time'
    /** The audit ended early because too many adverts differ or are undecided. */
    | 'too-many'
    /** Another process runs an audit of the same partner account. */
    | 'taken-over'
    | 'unknown-feed';
  readonly progress: AuditProgress;
}

/** Maximum number of findings: a person checks them one by one, and a stored item has no room for more. */
export const maxFindings = 1_000;
/** Together with the current page, this many stay below DynamoDB's item limit of 400 KB. */
const maxUndecided = 10_000;
/** Progress is stored at least this often: a continued audit repeats at most this much work. */
const longestOpenMs = 10 * 60_000;
/**
 * An unfinished audit that is older than this, beyond the time that it waits for the feed, is not continued, because
 * its results are out of date; a new one begins.
 */
const resumedWithinMs = 24 * 60 * 60_000;

/**
 * Runs an audit, or continues an unfinished one of the same source.
 *
 * @throws {PartnerError} a fault of the partner account, or a fault that persisted over all tries; the audit can be
 * continued
 */
export async function audit(
  deps: AuditDeps,
  key: BackfillKey,
  source: AuditSource,
  options: AuditOptions,
): Promise<AuditResult> {
  const run = await begin(deps, key, source, options);
  if (!run.isMine) return { end: 'taken-over', progress: run.progress };
  try {
    return { end: await walk(run, source), progress: run.progress };
  } catch (error) {
    if (options.signal.aborted) return { end: 'stopped', progress: run.progress };
    if (error instanceof OutOfTimeError) return { end: 'out-of-time', progress: run.progress };
    throw error;
  }
}

interface Run {
  readonly deps: AuditDeps;
  readonly key: BackfillKey;
  readonly options: AuditOptions;
  readonly requests: PacedRequests;
  /** No page begins after this moment; the second half of the time is for finishing the current work. */
  readonly halfTimeMs: number;
  /** False when another process has written the progress, so that it runs an audit too. */
  isMine: boolean;
  progress: AuditProgress;
  version: number;
}

/** Results of looks that are not stored yet. */
interface Batch {
  readonly candidates: Look[];
  readonly unreadable: string[];
  population: number | undefined;
  checked: number;
  equal: number;
}

async function begin(
  deps: AuditDeps,
  key: BackfillKey,
  source: AuditSource,
  options: AuditOptions,
): Promise<Run> {
  const { clock, settings, newId } = deps.poll;
  const now = clock.now();
  const { value, version = 0 } = (await deps.audits.read(key)) ?? {};
  const goesOn =
    value?.state === 'running' &&
    value.source === source.name &&
    now - Date.parse(value.updatedAt) < resumedWithinMs + settings.overlapSeconds * 1000;
  const at = toInstant(now);
  // `updatedAt` stays, so that an audit that is continued without progress expires as well.
  const progress: AuditProgress = goesOn
    ? value
    : {
        ...{ id: newId(), state: 'running', source: source.name, checked: 0, equal: 0 },
        ...{ differing: options.keeps ?? [], neverPublished: [], undecided: [] },
        ...{ repaired: 0, startedAt: at, updatedAt: at },
      };
  const { signal, deadlineMs = Number.POSITIVE_INFINITY } = options;
  const isMine = await deps.audits.write(key, progress, version, 0);
  const halfTimeMs = now + (deadlineMs - now) / 2;
  const run = { deps, key, options, progress, version: version + 1, isMine, halfTimeMs };
  const requests = createPacedRequests({
    ...{ clock, signal, deadlineMs, maxRequestsPerSecond: settings.maxRequestsPerSecond },
    probe: askFeed(deps.poll, key),
    onWaiting: (isWaiting) => tell(run, undefined, isWaiting ? 'service' : undefined),
  });
  return Object.assign(run, { requests });
}

/** Looks at all adverts, and looks again at those that differ, until nothing is left. */
async function walk(run: Run, source: AuditSource): Promise<AuditResult['end']> {
  const { deps, options, halfTimeMs } = run;
  const { clock, settings } = deps.poll;
  while (run.isMine) {
    options.signal.throwIfAborted();
    const { state, open, isThrough } = run.progress;
    if (state === 'done') return isThrough ? 'done' : 'too-many';
    if (open) {
      const dueMs = dueAt(open, settings);
      if (dueMs > halfTimeMs) return 'out-of-time';
      await sleepFor(clock, dueMs - clock.now(), options.signal, (leftMs) =>
        tell(run, undefined, 'feed', leftMs),
      );
      await lookAgain(run, open);
    } else if (clock.now() > halfTimeMs) return 'out-of-time';
    else if (!(await lookAtSome(run, source))) return 'unknown-feed';
  }
  return 'taken-over';
}

/**
 * Looks at pages until there is something to store.
 *
 * @returns false when the feed is unknown, so that differences cannot be checked against it
 */
async function lookAtSome(run: Run, source: AuditSource): Promise<boolean> {
  const { deps, key, options, progress, requests, halfTimeMs } = run;
  const { clock } = deps.poll;
  const since = await unreadSince(deps.poll, key.partnerAccount);
  if (since === undefined) return false;
  const storedByMs = Math.min(clock.now() + longestOpenMs, halfTimeMs);
  const batch: Batch = {
    candidates: [],
    unreadable: [],
    population: progress.population,
    checked: 0,
    equal: 0,
  };
  let position = progress.position;
  let page: AuditPage | undefined;
  do {
    options.signal.throwIfAborted();
    page = await source.page(position, progress, requests);
    if (page) await lookAtPage(run, page, batch);
    position = page?.next ?? position;
    const { length } = batch.candidates;
    if (length === 0 || length >= maxFindings) break;
  } while (page && clock.now() < storedByMs);
  const { candidates, checked, equal, unreadable, population } = batch;
  await store(run, {
    ...{ checked: progress.checked + checked, equal: progress.equal + equal },
    undecided: [...progress.undecided, ...unreadable],
    ...(population !== undefined && { population }),
    ...(position !== undefined && { position }),
    ...(!page && { isThrough: true }),
    ...(candidates.length > 0 && {
      open: { looks: candidates, lookedAt: clock.now(), since, rounds: 0 },
    }),
  });
  return true;
}

async function lookAtPage(
  run: Run,
  { advertIds, isListOnly, population }: AuditPage,
  batch: Batch,
): Promise<void> {
  const { deps, key, options, requests } = run;
  batch.population = population ?? batch.population;
  let hasFailed = false;
  await forEachConcurrent(advertIds, looksAtOnce, async (advertId) => {
    if (hasFailed) return;
    try {
      options.signal.throwIfAborted();
      const look = await lookAt({ ...deps, requests }, key, advertId, !isListOnly);
      if (isListOnly && look && look.sequence > 0) return;
      batch.checked += 1;
      if (!look) batch.unreadable.push(advertId);
      else if (isEqual(look)) batch.equal += 1;
      else batch.candidates.push(look);
      tell(run, batch);
    } catch (error) {
      hasFailed = true;
      throw error;
    }
  });
}

async function lookAgain(run: Run, before: OpenLooks): Promise<void> {
  const { deps, key, options, progress, requests } = run;
  const found = await confirm({ ...deps, requests, signal: options.signal }, key, before);
  const undecided = found.undecided.map(({ advertId }) => advertId);
  const sent = options.repair ? [...found.standing.map(({ advertId }) => advertId), ...undecided] : [];
  if (sent.length > 0) await options.repair?.(sent);
  const { differing, neverPublished } = sorted(found);
  const isKept = ({ advertId }: Difference) => !differing.some((one) => one.advertId === advertId);
  await store(
    run,
    {
      equal: progress.equal + found.equal,
      differing: [...progress.differing.filter(isKept), ...differing],
      neverPublished: [...progress.neverPublished, ...neverPublished],
      undecided: [...progress.undecided, ...undecided],
      repaired: progress.repaired + sent.length,
      ...(found.open && { open: found.open }),
    },
    sent.length,
  );
}

function sorted({ standing }: Confirmed): Pick<AuditProgress, 'differing' | 'neverPublished'> {
  const [never, differing] = [
    standing.filter(({ sequence }) => sequence === 0),
    standing.filter(({ sequence }) => sequence > 0),
  ];
  return {
    neverPublished: never.map(({ advertId }) => advertId),
    differing: differing.map(
      ({ advertId, published, actual = null, owed }): Difference => ({
        ...{ advertId, published, actual },
        ...(owed && { owed }),
      }),
    ),
  };
}

/** @param listed number of adverts put into the queue, for the books */
async function store(run: Run, change: Partial<AuditProgress>, listed = 0): Promise<void> {
  const { deps, key, version } = run;
  const { open: _stored, ...progress } = run.progress;
  const next: AuditProgress = { ...progress, ...change, updatedAt: toInstant(deps.poll.clock.now()) };
  const found = next.differing.length + next.neverPublished.length;
  const isDone =
    !next.open && (next.isThrough || found >= maxFindings || next.undecided.length >= maxUndecided);
  const stored: AuditProgress = isDone ? { ...next, state: 'done' } : next;
  run.isMine = await deps.audits.write(key, stored, version, listed);
  if (!run.isMine) return;
  run.progress = stored;
  run.version += 1;
}

function tell(
  { deps, progress }: Pick<Run, 'deps' | 'progress'>,
  batch: Pick<Batch, 'checked' | 'candidates'> | undefined,
  waitsFor?: AuditStep['waitsFor'],
  leftMs?: number,
): void {
  const open = batch?.candidates ?? progress.open?.looks ?? [];
  deps.onProgress?.({
    checked: progress.checked + (batch?.checked ?? 0),
    found: progress.differing.length + progress.neverPublished.length + open.length,
    ...(waitsFor && { waitsFor }),
    ...(leftMs !== undefined && { leftMs }),
  });
}

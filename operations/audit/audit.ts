/**
 * An audit: compares what was published last of each advert with what the service says now, and can have what differs
 * published once more.
 */
import { enqueuePage } from '../../functions/drain/enqueue-page.ts';
import type { PollDeps } from '../../functions/drain/poll-feed.ts';
import { advertsFeed } from '../../shared/contract/feeds.ts';
import { toInstant } from '../../shared/domain/clock.ts';
import { forEachConcurrent } from '../../shared/domain/for-each-concurrent.ts';
import type { AdvertHistories } from '../../shared/ports/advert-histories.ts';
import type { AdvertReader } from '../../shared/ports/advert-reader.ts';
import type { AuditProgress, Audits, Difference } from '../../shared/ports/audits.ts';
import type { BackfillKey } from '../../shared/ports/backfills.ts';
import { CommandError } from '../errors.ts';
import { unreadSince } from '../unread.ts';
import { type Confirmed, confirm, type IsSettled, looksAtOnce } from './confirm.ts';
import { isEqual, type Look, lookAt } from './looks.ts';
import { createPacedRequests, type PacedRequests } from './paced-requests.ts';
import type { AuditPage, AuditSource } from './sources.ts';

export interface AuditDeps {
  /** For reading the feed and for the messages of a repair. */
  readonly poll: PollDeps;
  readonly audits: Audits;
  readonly histories: Pick<AdvertHistories, 'read'>;
  readonly adverts: AdvertReader;
  readonly isSettled: IsSettled;
  /** Whether something takes messages from the queue now. */
  readonly isDelivering: () => boolean;
  readonly onProgress?: (step: AuditStep) => void;
}

export interface AuditStep {
  readonly checked: number;
  /** Differences found so far. */
  readonly found: number;
  /** `service`: it asked for a pause, or fails. */
  readonly waitsFor?: 'feed' | 'service';
  /** How long it waits for the feed at least, until differences can be told from changes. */
  readonly leftMs?: number;
}

export interface AuditOptions {
  /** Stops; the audit can be continued from the adverts that are decided. */
  readonly signal: AbortSignal;
  /** Sends what differs through the queue, with the cause `audit`. */
  readonly repair: boolean;
}

export interface AuditResult {
  readonly end:
    | 'done'
    | 'stopped'
    /** So much differs that the rest was not looked at. */
    | 'too-many'
    /** Another process runs an audit of the same partner account. */
    | 'taken-over';
  readonly progress: AuditProgress;
}

/** More is beyond what somebody looks at one by one, and beyond what a stored item holds. */
export const maxFindings = 1_000;
/** Differences are decided at least so often: what a stopped audit had not decided is looked at again. */
const longestOpenMs = 10 * 60_000;
/** One that was left alone for longer says little about how things are now: it begins anew. */
const resumedWithinMs = 24 * 60 * 60_000;

/**
 * Runs an audit, or continues an unfinished one of the same source.
 *
 * @throws {PartnerError} what the service answers about the partner account, or goes on answering; the audit can be continued
 */
export async function audit(
  deps: AuditDeps,
  key: BackfillKey,
  source: AuditSource,
  options: AuditOptions,
): Promise<AuditResult> {
  const run = await begin(deps, key, source, options);
  if (!run) throw new CommandError('another audit of this partner account has just begun: wait for its end');
  try {
    return { end: await walk(run, source), progress: run.progress };
  } catch (error) {
    if (options.signal.aborted) return { end: 'stopped', progress: run.progress };
    throw error;
  }
}

interface Run {
  readonly deps: AuditDeps;
  readonly key: BackfillKey;
  readonly options: AuditOptions;
  readonly requests: PacedRequests;
  progress: AuditProgress;
  version: number;
}

/** Looks that are not decided yet. */
interface Batch {
  readonly begunAt: number;
  /** Where the unread part of the feed began before the first look. */
  readonly since: string;
  readonly candidates: Map<string, Look>;
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
): Promise<Run | undefined> {
  const { audits, poll } = deps;
  const now = poll.clock.now();
  const stored = await audits.read(key);
  const { value, version = 0 } = stored ?? {};
  const goesOn =
    value?.state === 'running' &&
    value.source === source.name &&
    now - Date.parse(value.updatedAt) < resumedWithinMs;
  const at = toInstant(now);
  const progress: AuditProgress = goesOn
    ? { ...value, updatedAt: at }
    : {
        ...{ id: poll.newId(), state: 'running', source: source.name, checked: 0, equal: 0 },
        ...{ differing: [], neverPublished: [], undecided: [], repaired: 0, startedAt: at, updatedAt: at },
      };
  if (!(await audits.write(key, progress, version, 0))) return undefined;
  const run = { deps, key, options, progress, version: version + 1 };
  const { clock, settings } = poll;
  const requests = createPacedRequests({
    clock,
    maxRequestsPerSecond: settings.maxRequestsPerSecond ?? 10,
    signal: options.signal,
    onWaiting: (isWaiting) => tell(run, undefined, isWaiting ? 'service' : undefined),
  });
  return Object.assign(run, { requests });
}

async function walk(run: Run, source: AuditSource): Promise<AuditResult['end']> {
  const { deps, options, key } = run;
  const { clock } = deps.poll;
  let position = run.progress.position;
  let batch: Batch | undefined;
  for (;;) {
    options.signal.throwIfAborted();
    const page = await run.requests(() => source.page(position, run.progress));
    batch ??= {
      ...{ begunAt: clock.now(), since: await unreadSince(deps.poll, key.partnerAccount) },
      ...{ candidates: new Map(), unreadable: [], checked: 0, equal: 0 },
      population: run.progress.population,
    };
    if (page) await lookAtPage(run, page, batch);
    position = page?.next ?? position;
    const isFull = batch.candidates.size >= maxFindings;
    const isDue = clock.now() - batch.begunAt >= longestOpenMs;
    if (page && !isFull && !isDue && batch.candidates.size > 0) continue;
    const decided = await decide(run, batch);
    const found = decided.differing.length + decided.neverPublished.length;
    const end = page ? (found >= maxFindings ? 'too-many' : undefined) : 'done';
    if (!(await store(run, decided, { state: end ? 'done' : 'running', ...(position && { position }) })))
      return 'taken-over';
    if (end) return end;
    batch = undefined;
  }
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
      else batch.candidates.set(advertId, look);
      tell(run, batch);
    } catch (error) {
      hasFailed = true;
      throw error;
    }
  });
}

/** What is known about the adverts of a batch, added to what was known before; `sent`: for repair. */
interface Decided
  extends Pick<
    AuditProgress,
    'checked' | 'equal' | 'differing' | 'neverPublished' | 'undecided' | 'population'
  > {
  readonly sent: number;
}

async function decide(run: Run, batch: Batch): Promise<Decided> {
  const { deps, key, options, progress, requests } = run;
  const candidates = [...batch.candidates.values()];
  const found = await confirm(
    { ...deps, requests, signal: options.signal, onWaiting: (leftMs) => tell(run, batch, 'feed', leftMs) },
    key,
    candidates,
    batch.since,
  );
  const open = [...found.standing, ...found.undecided].map(({ advertId }) => advertId);
  if (options.repair && open.length > 0) await send(run, open);
  const { differing, neverPublished } = sorted(found);
  return {
    checked: progress.checked + batch.checked,
    equal: progress.equal + batch.equal + found.equal,
    differing: [...progress.differing, ...differing],
    neverPublished: [...progress.neverPublished, ...neverPublished],
    undecided: [
      ...progress.undecided,
      ...batch.unreadable,
      ...found.undecided.map(({ advertId }) => advertId),
    ],
    ...(batch.population !== undefined && { population: batch.population }),
    sent: options.repair ? open.length : 0,
  };
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

/** As if the feed had named them: fan-out gives each its next event, after all that waits for it, or finds it unchanged. */
async function send({ deps, key }: Run, ids: readonly string[]): Promise<void> {
  const found = { ids, repeated: 0, malformed: 0, malformedShown: [] };
  await enqueuePage(deps.poll, { ...key, feed: advertsFeed.name }, found, {
    receivedAt: deps.poll.clock.now(),
    cause: 'audit',
  });
}

/** @returns false when another process has written since: it runs an audit, too */
async function store(
  run: Run,
  { sent, ...decided }: Decided,
  change: Pick<AuditProgress, 'state' | 'position'>,
): Promise<boolean> {
  const { progress, deps, key, version } = run;
  const next: AuditProgress = {
    ...{ ...progress, ...decided, ...change },
    repaired: progress.repaired + sent,
    updatedAt: toInstant(deps.poll.clock.now()),
  };
  if (!(await deps.audits.write(key, next, version, sent))) return false;
  run.progress = next;
  run.version += 1;
  return true;
}

function tell(
  { deps, progress }: Pick<Run, 'deps' | 'progress'>,
  batch: Pick<Batch, 'checked' | 'candidates'> | undefined,
  waitsFor?: AuditStep['waitsFor'],
  leftMs?: number,
): void {
  deps.onProgress?.({
    checked: progress.checked + (batch?.checked ?? 0),
    found: progress.differing.length + progress.neverPublished.length + (batch?.candidates.size ?? 0),
    ...(waitsFor && { waitsFor }),
    ...(leftMs !== undefined && { leftMs }),
  });
}

import * as v from 'valibot';
import { runEmbeddedBridge } from '../../../embedded/bridge.ts';
import { createDryState } from '../../../embedded/dry-state.ts';
import { openReaders } from '../../../embedded/readers.ts';
import { aboutReader, kindOfReader, shownUrl } from '../../../embedded/state/event-log.ts';
import { markFileIn } from '../../../embedded/state/file/private-folder.ts';
import { markWriter, readMark } from '../../../embedded/state/file/published-mark.ts';
import { type RunLock, takeRunLock } from '../../../embedded/state/file/run-lock.ts';
import { startUpkeep } from '../../../embedded/state/file/run-upkeep.ts';
import type { EmbeddedState } from '../../../embedded/state/state.ts';
import { createTextObserver } from '../../../embedded/text-observer.ts';
import type { Deliver } from '../../../embedded/webhooks/request.ts';
import packageJson from '../../../package.json' with { type: 'json' };
import { bridgeSettings, bridgeSettingsSchema } from '../../../shared/contract/settings.ts';
import { systemClock, toInstant } from '../../../shared/domain/clock.ts';
import type { Observer } from '../../../shared/ports/observer.ts';
import { type Counters, sumOf } from '../../../shared/ports/store.ts';
import { type Books, emptyBooks } from '../../../shared/state/books.ts';
import type { LocalHost } from '../../operations/bridge.ts';
import { CommandError, failed, namesText } from '../../operations/errors.ts';
import { type Finding, findingsOf, leavesWork, mendText } from '../../operations/findings/findings.ts';
import type { Status } from '../../operations/printed.ts';
import { readStatus } from '../../operations/status.ts';
import { withBridge } from '../bridge/open.ts';
import type { FolderBridge } from '../bridge/open-folder.ts';
import { type Io, leaveUnread, say, untilUnread } from '../shared/io.ts';
import type { Checked } from '../shared/options.ts';
import { startProgress } from '../shared/progress.ts';
import type { LocalTarget } from '../shared/target.ts';
import { are, count, countsText } from '../shared/wording.ts';
import { lineOutputOf } from './line-output.ts';
import type { runOptions } from './options.ts';
import { withoutRepeats } from './repeats.ts';
import { requireSecrets, webhookIn } from './webhooks.ts';

type RunOptions = Checked<typeof runOptions>;

/** Until it is stopped or idle. @returns whether somebody must act, and whether a signal or a closed output stopped it */
export function runBridge(io: Io, target: LocalTarget, options: RunOptions) {
  const { dryRun } = options;
  const broken = new AbortController();
  // Another process's lock ends by itself. A damaged file does not, and ends the run.
  const onFault = (fault: { readonly code: string }) => fault.code !== 'state-in-use' && broken.abort(fault);
  return withBridge(
    target,
    async (bridge) => {
      bridge.requireBaseUrl();
      await bridge.state.applicationSecret.read();
      const inFiles = await Promise.all(options.webhookFile.map((file) => webhookIn(io, file)));
      const webhooks = [...new Set([...options.webhook, ...inFiles])];
      requireSecrets(bridge.state.webhooks, webhooks, target);
      // Taken after the state was opened: a folder without a bridge gets no lock file either.
      const words = target.command(dryRun ? 'run --dry-run' : 'run');
      const name = `pid ${process.pid} since ${toInstant(systemClock.now())} (${words})`;
      const lock = takeRunLock(target.dir, name);
      try {
        if (!dryRun) await bridge.state.beginRun();
        const state = dryRun ? createDryState(bridge.state, target.dir) : bridge.state;
        return await runLocked(io, options, { bridge, state, target, webhooks, lock, broken });
      } finally {
        lock.release();
      }
    },
    { onFault },
  );
}

interface Opened {
  readonly bridge: FolderBridge;
  /** In a dry run, a copy of the bridge's. */
  readonly state: EmbeddedState;
  readonly target: LocalTarget;
  readonly webhooks: readonly string[];
  readonly lock: RunLock;
  /** Aborted when the state can no longer be used; the reason is the fault. */
  readonly broken: AbortController;
}

async function runLocked(io: Io, options: RunOptions, opened: Opened) {
  const { bridge, state, target, webhooks, lock } = opened;
  const broken = opened.broken.signal;
  const { dryRun, untilIdle, verbose, jsonLogs, concurrency, advertTries, webhookRetentionHours } = options;
  const settings = v.parse(bridgeSettingsSchema, dryRun ? { ...options, auditSample: 0 } : options);
  const unread = untilUnread(io);
  const signal = AbortSignal.any([io.untilStopped(), unread, broken]);
  const log = createTextObserver(io.stderr, 'info', { json: true });
  const tell = (text: string) => (jsonLogs ? log.info(text) : say(io, text));
  if (!dryRun) {
    await bridge.storeSettings(settings);
    await bridge.idleRuns.begin();
  }
  const host: LocalHost = {
    ...bridge.host,
    ...state,
    isRunning: () => true,
    standstill: () => undefined,
    // A dry run publishes nothing.
    ...(dryRun && { reusedHistories: () => [] }),
  };
  async function look() {
    const nowMs = systemClock.now();
    const status = await readStatus({ ...state, host }, nowMs);
    return { status, findings: findingsOf(status, { ...target, nowMs }) };
  }
  const begun = await look();
  for (const line of openingLines(options, opened, begun)) tell(line);
  const summary = async () => summaryText(begun.status, (await look()).status);
  // On a terminal that shows the events, they are the progress. An empty line is not shown.
  const showsEvents = dryRun || options.stdout || (webhooks.length === 0 && options.eventBus.length === 0);
  const isSilent = jsonLogs || !io.stderr.isTTY || (io.stdout.isTTY && showsEvents);
  const progress = startProgress(io, async () => (isSilent ? '' : summary()));
  // A broken run ends with a message that says everything; of an unread one, faults during the stop are not reported.
  for (const end of [broken, unread]) end.addEventListener('abort', () => progress.stop());
  const observer = withoutRepeats(
    createTextObserver(progress.output, verbose ? 'info' : 'warn', { json: jsonLogs }),
  );
  const onChange = (isFull: boolean) =>
    isFull
      ? observer.error('the disk of the state is full: nothing is polled or published until there is room')
      : tell('The disk of the state has room again: the run goes on.');
  if (!dryRun && !untilIdle) state.waitForRoom({ stopped: signal, onChange });
  // Loads Node's HTTP server, which most runs do not need.
  const serving = options.metrics === undefined ? undefined : await import('./metrics.ts');
  const served = await serving?.serveMetrics(options.metrics ?? 0, look);
  if (served) tell(`Metrics: ${served.address}`);
  const readers = await openReaders({
    state,
    observer,
    clock: systemClock,
    signal,
    retentionHours: webhookRetentionHours,
    maxEvents: options.webhookMaxEvents,
    idleMs: lock.idleMs,
    webhooks: dryRun ? [] : webhooks,
    eventBuses: dryRun ? new Map() : await eventBusesOf(options.eventBus, observer),
    output: showsEvents ? lineOutputOf(io.stdout) : undefined,
  });
  const lastEvent = () => state.eventLog.ends().last;
  const upkeep = startUpkeep({
    dir: target.dir,
    clock: systemClock,
    beat: lock.beat,
    mark: dryRun ? undefined : markWriter(target.dir, { lastEvent, makeDurable: state.makeDurable }),
    onLost: (fault) => opened.broken.abort(fault),
  });
  try {
    const fault = await runEmbeddedBridge({
      state,
      settings,
      concurrency,
      advertTries,
      observer,
      signal,
      untilIdle,
      baseUrl: bridge.requireBaseUrl(),
      events: readers.events,
    }).finally(() => broken.throwIfAborted());
    if (untilIdle && !signal.aborted) await readers.untilDelivered(signal);
    await readers.stop();
    await upkeep.stop();
    broken.throwIfAborted();
    progress.stop();
    if (!unread.aborted && !fault) tell(`${await summary()}.`);
    const undelivered = readers.undelivered();
    for (const { url, waiting, oldest = 0, trouble } of undelivered) {
      tell(
        `${count(waiting)} events wait for ${kindOfReader(url)} ${shownUrl(url)}${trouble ? ` (${trouble.reason})` : ''}, the oldest since ` +
          `${toInstant(oldest)}: kept for ${count(webhookRetentionHours)} hours, and sent by the next run with this ${kindOfReader(url)}.`,
      );
    }
    const unwritten = readers.unwritten();
    if (unwritten !== undefined) {
      leaveUnread(io);
      const error = failed('unwritten', { reason: unwritten });
      if (!signal.aborted) throw error;
      tell(`${error.says}.`);
    }
    // A fault during the stop is caused by the stop.
    if (fault && !signal.aborted) throw fault;
    const isIdle = untilIdle && !dryRun && !signal.aborted && undelivered.length === 0;
    if (isIdle) await bridge.idleRuns.end(systemClock.now());
    const { findings } = await look();
    const failing = findings.filter(
      ({ what, partnerAccount }) => partnerAccount !== null && (what === 'held' || what === 'failing'),
    );
    if (untilIdle && !signal.aborted) for (const { says } of failing) tell(says);
    return { needsPerson: leavesWork(findings) || undelivered.length > 0, stopped: signal.aborted };
  } finally {
    await readers.stop();
    await upkeep.stop();
    progress.stop();
    served?.close();
  }
}

/** Loads the AWS SDK only for a run that has a bus. What is wrong with a bus is told now, and stops nothing else. */
async function eventBusesOf(
  arns: readonly string[],
  observer: Observer,
): Promise<ReadonlyMap<string, Deliver>> {
  if (arns.length === 0) return new Map();
  const { eventBusAt } = await import('./event-bus.ts');
  const buses = arns.map((arn) => [arn, eventBusAt(arn)] as const);
  for (const [arn, bus] of buses)
    bus.look().then((failure) => {
      if (failure)
        observer.warn('an event bus cannot be seen', { ...aboutReader(arn), reason: failure.reason });
    });
  return new Map(buses.map(([arn, { deliver }]) => [arn, deliver]));
}

/** @throws {CommandError} for an older copy of a state, which would use sequence numbers again */
function* openingLines(
  { dryRun, untilIdle, ...options }: RunOptions,
  { bridge, state, target }: Opened,
  { status, findings }: { readonly status: Status; readonly findings: readonly Finding[] },
): Generator<string> {
  if (dryRun) yield 'Dry run: nothing of this is stored or sent.';
  const saysOf = (what: string) =>
    findings.filter((one) => one.what === what).map((one) => `${one.says} ${mendText(one)}`);
  const [olderCopy] = saysOf('older-copy');
  if (olderCopy) throw new CommandError(olderCopy);
  if (!readMark(target.dir) && state.eventLog.ends().last > 0)
    yield `${markFileIn(target.dir)} is missing, so nobody can tell whether this state is an older copy. If it is, stop this run and follow docs/operate/backup.md.`;
  if (!untilIdle) {
    const names = status.partnerAccounts.map(({ name }) => name);
    const listed = names.length > 0 ? ` (${namesText(names, 10)})` : '';
    const given = Object.entries(options).flatMap(([name, value]) =>
      name in bridgeSettings && value !== undefined ? [`, ${name} ${value}`] : [],
    );
    yield `Advert Bridge ${packageJson.version} runs ${target.dir} with ${bridge.requireBaseUrl()}: ` +
      `${are(names.length, 'partner account', 'partner accounts')}${listed}${given.join('')}.`;
  }
  yield* saysOf('no-account');
}

/** What has happened between two looks. */
function summaryText(before: Status, { partnerAccounts, queue: { waiting, deadLetters } }: Status): string {
  const [earlier, now] = [totalOf(before.partnerAccounts), totalOf(partnerAccounts)];
  // A difference is negative only if an account was forgotten in the meantime.
  const since = (outcome: keyof ShownBooks) => Math.max(0, now[outcome] - earlier[outcome]);
  const outcomes = {
    events: since('events'),
    unavailable: since('unavailable'),
    unchanged: since('unchanged'),
    coalesced: since('coalesced'),
  };
  return countsText({ ...outcomes, waiting, deadLetters }) || 'No changes';
}

/** The books of several partner accounts, added up. */
export const totalOf = (accounts: readonly { readonly books: ShownBooks }[]): ShownBooks =>
  accounts.reduce<Counters>((sum, { books }) => sumOf(sum, { ...books }), emptyBooks) as typeof emptyBooks;
type ShownBooks = Omit<Books, 'redelivered'>;

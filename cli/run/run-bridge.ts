import { runEmbeddedBridge } from '../../embedded/bridge.ts';
import { createDryState } from '../../embedded/dry-state.ts';
import { openReaders } from '../../embedded/readers.ts';
import { createJsonObserver, createTextObserver } from '../../embedded/text-observer.ts';
import type { Webhook } from '../../embedded/webhooks/delivery.ts';
import { CommandError } from '../../operations/errors.ts';
import { findingsOf, needsAttention } from '../../operations/findings.ts';
import { readStatus } from '../../operations/status.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { bridgeSettings } from '../../shared/contract/settings.ts';
import { systemClock, toInstant } from '../../shared/domain/clock.ts';
import { shownUrl } from '../../shared/domain/text.ts';
import { keepMark, markFileIn, readMark, reusedHistories } from '../../shared/sqlite/file/published-mark.ts';
import { takeRunLock } from '../../shared/sqlite/file/run-lock.ts';
import type { EmbeddedState } from '../../shared/sqlite/state.ts';
import type { WebhookStatus } from '../../shared/sqlite/webhooks.ts';
import { withLocal } from '../bridge/open.ts';
import type { FolderBridge } from '../bridge/open-folder.ts';
import { storeRunSettings } from '../bridge/run-settings.ts';
import { connectCommand } from '../shared/explain.ts';
import { type Io, say } from '../shared/io.ts';
import type { Checked } from '../shared/options.ts';
import { startProgress } from '../shared/progress.ts';
import { commandFor, type LocalTarget, type Target } from '../shared/target.ts';
import { are, count } from '../shared/wording.ts';
import type { runOptions } from './options.ts';
import { withoutRepeats } from './repeats.ts';
import { secretsOf, webhookIn } from './webhooks.ts';

type RunOptions = Checked<typeof runOptions>;

export interface EndedRun {
  readonly needsPerson: boolean;
  /** Stopped by a signal, or because the reader of standard output has ended. */
  readonly stopped: boolean;
}

/**
 * Runs the embedded bridge of a folder until it is stopped or idle. Only one process runs a folder at a time.
 *
 * @throws {CommandError} with a message that says what to do
 */
export function runBridge(io: Io, target: LocalTarget, options: RunOptions): Promise<EndedRun> {
  const broken = new AbortController();
  // Another process's lock ends by itself. A full disk or a damaged file does not, and ends the run.
  const onFault = (fault: { readonly code: string }) => fault.code !== 'state-in-use' && broken.abort(fault);
  // Opened before the lock is taken: a folder without a bridge gets no lock file either.
  const work = async (bridge: FolderBridge) => {
    const baseUrl = bridge.baseUrl();
    await bridge.state.applicationSecret.read();
    const inFiles = await Promise.all(options.webhookFile.map((file) => webhookIn(io, file)));
    const urls = [...new Set([...options.webhook, ...inFiles])];
    const webhooks = secretsOf(bridge.state.webhooks, urls, target);
    const command = commandFor(target, 'run');
    const startedAt = toInstant(systemClock.now());
    const lock = takeRunLock(target.dir, options.dryRun ? 'dry-run' : { command, startedAt });
    bridge.onClose(() => lock.release());
    const result = await runLocked(io, options.dryRun ? dryBridge(bridge) : bridge, options, {
      baseUrl,
      webhooks,
      broken: broken.signal,
    });
    return result;
  };
  return withLocal(target, work, { onFault });
}

/** Runs the bridge with a state that stores almost nothing. */
function dryBridge(bridge: FolderBridge): FolderBridge {
  const state = createDryState(bridge.state, bridge.target.dir);
  bridge.onClose(() => state.close());
  return { ...bridge, state };
}

interface Opened {
  readonly baseUrl: string;
  readonly webhooks: readonly Webhook[];
  /** Aborted when the state can no longer be used; the reason is the fault. */
  readonly broken: AbortSignal;
}

async function runLocked(
  io: Io,
  { state, target }: FolderBridge,
  options: RunOptions,
  { baseUrl, webhooks, broken }: Opened,
): Promise<EndedRun> {
  const { concurrency, advertTries, dryRun, stdout, untilIdle, verbose, jsonLogs, metrics } = options;
  const isShown = dryRun || stdout || webhooks.length === 0;
  const readerGone = new AbortController();
  const signal = AbortSignal.any([io.untilStopped(), readerGone.signal, broken]);
  const tell = teller(io, options);
  if (dryRun) tell(dryRunText);
  await storeRunSettings(state, options);
  let unreadable = 0;
  const readable = await state.partnerAccounts.list(() => {
    unreadable += 1;
  });
  const names = readable.map(({ name }) => name);
  const lastEvent = () => state.eventLog.ends().last;
  const mark = readMark(target.dir);
  const reused = mark ? reusedHistories(mark, lastEvent(), readable) : [];
  if (reused.length > 0 && !dryRun) throw new CommandError(olderText(target, reused));
  if (!mark && lastEvent() > 0) tell(unknownAgeText(target));
  if (!untilIdle) tell(startText(target, baseUrl, names, options));
  if (readable.length + unreadable === 0) tell(nobodyConnectedText(target));
  const begun = await totals(state);
  // An empty line is not shown.
  const progress = startProgress(io, async () => (jsonLogs ? '' : summaryText(begun, await totals(state))));
  // The run ends with a message that says everything.
  broken.addEventListener('abort', () => progress.stop());
  const onClosed = () => {
    // The reader of standard output has ended, so faults during the stop are not reported.
    progress.stop();
    readerGone.abort();
  };
  const createObserver = jsonLogs ? createJsonObserver : createTextObserver;
  const observer = withoutRepeats(createObserver(progress.output, verbose ? 'info' : 'warn'), {
    // With --until-idle, a lasting fault is the message with which the run ends.
    accountFaults: !untilIdle || verbose,
  });
  // Loads Node's HTTP server, which most runs do not need.
  const serving = metrics === undefined ? undefined : await import('./metrics.ts');
  const server = await serving?.serveMetrics(metrics ?? 0, metricsSource(state, target));
  if (serving && server) tell(`Metrics: ${serving.addressOf(server)}`);
  const endMark = dryRun ? () => {} : keepMark(target.dir, lastEvent);
  const readers = await openReaders({
    state,
    webhooks: dryRun ? [] : webhooks,
    output: isShown ? io.stdout : undefined,
    onClosed,
    observer,
    retentionHours: options.webhookRetentionHours,
    clock: systemClock,
  });
  try {
    const fault = await runEmbeddedBridge({
      state,
      baseUrl,
      settings: dryRun ? { ...options, auditSample: 0 } : options,
      concurrency,
      advertTries,
      events: readers.events,
      observer,
      signal,
      untilIdle,
    }).finally(() => broken.throwIfAborted());
    if (untilIdle && !signal.aborted) await readers.untilDelivered(signal);
    await readers.stop();
    progress.stop();
    if (!readerGone.signal.aborted && !fault) tell(`${summaryText(begun, await totals(state))}.`);
    const undelivered = readers.undelivered();
    for (const webhook of undelivered) tell(undeliveredText(webhook, options.webhookRetentionHours));
    // A fault during the stop is caused by the stop.
    if (fault && !signal.aborted) throw fault;
    const isLeft = needsAttention((await metricsSource(state, target).read()).findings);
    return { needsPerson: isLeft || undelivered.length > 0, stopped: signal.aborted };
  } finally {
    await readers.stop();
    endMark();
    progress.stop();
    server?.close();
    server?.closeAllConnections();
  }
}

/** Says something to a person, or with --json-logs to the collector of logs. */
function teller(io: Io, { jsonLogs }: RunOptions): (text: string) => void {
  const log = createJsonObserver(io.stderr, 'info');
  return (text) => (jsonLogs ? log.info(text) : say(io, text));
}

const metricsSource = (state: EmbeddedState, target: Target) => ({
  version: packageJson.version,
  async read() {
    const nowMs = systemClock.now();
    const status = await readStatus(state, nowMs);
    const command = (words: string) => commandFor(target, words);
    return { status, findings: findingsOf(status, { nowMs, kind: 'local', command }) };
  },
});

async function totals({ partnerAccounts, bookKeeper }: EmbeddedState): Promise<Totals> {
  const accounts = await partnerAccounts.list(() => undefined);
  const books = await Promise.all(accounts.map(({ name, generation }) => bookKeeper.read(name, generation)));
  const sum = (pick: (entry: (typeof books)[number]) => number) =>
    books.reduce((total, entry) => total + pick(entry), 0);
  return {
    events: sum(({ events, unavailable }) => events + unavailable),
    others: sum(({ unchanged, coalesced }) => unchanged + coalesced),
    ...(await bookKeeper.queue()),
  };
}

const maxNames = 10;

/** What is run: version, folder, service, partner accounts, and the settings that are not the default. */
function startText(
  { dir }: LocalTarget,
  baseUrl: string,
  names: readonly string[],
  options: Readonly<Record<string, unknown>>,
): string {
  const more = names.length > maxNames ? ` and ${names.length - maxNames} more` : '';
  const settings = Object.entries(bridgeSettings).flatMap(([name, { schema }]) => {
    const isDefault = String(options[name]) === String((schema as { readonly default?: unknown }).default);
    return isDefault ? [] : [`, ${name} ${options[name]}`];
  });
  return (
    `Advert Bridge ${packageJson.version} runs ${dir} with ${baseUrl}: ` +
    `${are(names.length, 'partner account', 'partner accounts')}${names.length > 0 ? ` (${names.slice(0, maxNames).join(', ')}${more})` : ''}${settings.join('')}.`
  );
}

const dryRunText = 'Dry run: nothing of this is stored or sent.';

const olderText = (target: LocalTarget, accounts: readonly { readonly name: string }[]): string =>
  `${markFileIn(target.dir)} says that more was published than this state knows: it is an older copy, and would use ` +
  `sequence numbers again for ${accounts.map(({ name }) => name).join(', ')}. Begin anew: ` +
  `\`${commandFor(target, 'connect --all --new-history --since TIME')}\`, with a TIME shortly before the copy was made`;

const unknownAgeText = (target: LocalTarget): string =>
  `${markFileIn(target.dir)} is missing, so nobody can tell whether this state is an older copy. If it is, stop this run and follow docs/operate/backup.md.`;

const nobodyConnectedText = (target: Target): string =>
  `No partner account is connected. Connect one: \`${connectCommand(target, 'NAME')}\``;

interface Totals {
  readonly events: number;
  /** Changes that needed no event. */
  readonly others: number;
  readonly waiting: number;
  readonly deadLetters: number;
}

function summaryText(before: Totals, now: Totals): string {
  // A difference is negative only if an account was forgotten in the meantime.
  const since = (term: 'events' | 'others') => count(Math.max(0, now[term] - before[term]));
  return (
    `${since('events')} events, ${since('others')} changes that needed none, ` +
    `${count(now.waiting)} waiting, ${count(now.deadLetters)} dead-lettered`
  );
}

function undeliveredText(
  { url, waiting, oldest = 0, trouble }: WebhookStatus,
  retentionHours: number,
): string {
  const because = trouble ? ` (${trouble.reason})` : '';
  return (
    `${count(waiting)} events wait for webhook ${shownUrl(url)}${because}, the oldest since ${toInstant(oldest)}: kept for ` +
    `${count(retentionHours)} hours, and sent by the next run with this webhook.`
  );
}

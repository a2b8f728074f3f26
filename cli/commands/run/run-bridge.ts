import { type RunResult, runEmbeddedBridge } from '../../../embedded/bridge.ts';
import { createLinePublisher } from '../../../embedded/publishers.ts';
import { createTextObserver } from '../../../embedded/text-observer.ts';
import type { Webhook } from '../../../embedded/webhooks/delivery.ts';
import type { BridgeSettings } from '../../../shared/contract/settings.ts';
import { systemClock, toInstant } from '../../../shared/domain/clock.ts';
import { exposureOf } from '../../../shared/sqlite/file/exposure.ts';
import { takeRunLock } from '../../../shared/sqlite/file/run-lock.ts';
import type { EmbeddedState } from '../../../shared/sqlite/state.ts';
import { explained } from '../../shared/explain.ts';
import { type Io, say } from '../../shared/io.ts';
import { startProgress } from '../../shared/progress.ts';
import { commandFor, type Target } from '../../shared/target.ts';
import { count } from '../../shared/wording.ts';
import { baseUrlOf, openState } from '../../targets/local/bridge.ts';
import { withoutRepeats } from './repeats.ts';
import { openWebhooks, secretsOf } from './webhooks.ts';

export interface BridgeRun {
  readonly settings: BridgeSettings;
  readonly concurrency: number;
  readonly advertTries: number;
  /** Events go there, and to standard output only where `stdout` says so. */
  readonly webhooks: readonly string[];
  readonly webhookRetentionHours: number;
  readonly stdout: boolean;
  readonly untilIdle: boolean;
  readonly verbose: boolean;
}

type LocalTarget = Extract<Target, { kind: 'local' }>;

export interface EndedRun extends RunResult {
  /** By a signal, or because nobody reads standard output any more. */
  readonly stopped: boolean;
}

/**
 * Runs the embedded bridge of a folder, alone on it, until it is stopped or idle.
 *
 * @throws {CommandError} whose message says what to do
 */
export async function runBridge(io: Io, target: LocalTarget, options: BridgeRun): Promise<EndedRun> {
  let baseUrl: string | undefined;
  try {
    const exposure = exposureOf(target.dir);
    // Opened first: a folder without a bridge gets no lock file either.
    const broken = new AbortController();
    const state = openState(target, {
      // A lock of another process passes; a full disk or a damaged file does not, and ends the run.
      onFault: (fault) => fault.code !== 'state-in-use' && broken.abort(fault),
    });
    try {
      if (exposure !== undefined) say(io, exposure);
      baseUrl = await baseUrlOf(state, target);
      await state.applicationSecret.read();
      const webhooks = secretsOf(state.outbox, options.webhooks, target);
      const command = commandFor(target, 'run');
      const lock = takeRunLock(target.dir, { command, startedAt: toInstant(systemClock.now()) });
      try {
        const result = await runLocked(io, target, options, {
          state,
          baseUrl,
          webhooks,
          broken: broken.signal,
        });
        if (result.fault) throw result.fault;
        return result;
      } finally {
        lock.release();
      }
    } finally {
      state.close();
    }
  } catch (error) {
    throw explained(error, { target, ...(baseUrl === undefined ? {} : { baseUrl }) });
  }
}

interface Opened {
  readonly state: EmbeddedState;
  readonly baseUrl: string;
  readonly webhooks: readonly Webhook[];
  /** Aborted, with the fault as its reason, when the state cannot be used any more. */
  readonly broken: AbortSignal;
}

async function runLocked(
  io: Io,
  target: LocalTarget,
  options: BridgeRun,
  { state, baseUrl, webhooks, broken }: Opened,
): Promise<EndedRun> {
  const { settings, concurrency, advertTries, stdout, untilIdle, verbose } = options;
  const asked = io.untilStopped();
  const readerGone = new AbortController();
  const signal = AbortSignal.any([asked, readerGone.signal, broken]);
  if ((await state.partnerAccounts.list()).length === 0) {
    say(
      io,
      `No partner account is connected. Connect one: \`${commandFor(target, 'connect NAME --refresh-token-stdin')}\``,
    );
  }
  const begun = await totals(state);
  const progress = startProgress(io, async () => summary(begun, await totals(state)));
  // The message that the run ends with says it all.
  broken.addEventListener('abort', () => progress.mute());
  const onClosed = () => {
    // Nothing that goes wrong from here on is news.
    progress.mute();
    readerGone.abort();
  };
  const observer = withoutRepeats(createTextObserver(progress.output, verbose ? 'info' : 'warn'), {
    // It is the message that the run ends with, unless it passes.
    accountFaults: !untilIdle || verbose,
  });
  const outgoing = openWebhooks(webhooks, {
    outbox: state.outbox,
    observer,
    retentionHours: options.webhookRetentionHours,
    lines: webhooks.length === 0 || stdout ? createLinePublisher(io.stdout, onClosed) : undefined,
  });
  try {
    const result = await runEmbeddedBridge({
      state,
      baseUrl,
      settings,
      concurrency,
      advertTries,
      events: outgoing.events,
      observer,
      signal,
      untilIdle,
    }).finally(() => broken.throwIfAborted());
    if (untilIdle && !signal.aborted) await outgoing.untilDelivered(signal);
    await outgoing.stop();
    progress.stop();
    if (!readerGone.signal.aborted && !result.fault) say(io, `${summary(begun, await totals(state))}.`);
    const undelivered = outgoing.undelivered();
    for (const line of undelivered) say(io, line);
    const needsPerson = result.needsPerson || undelivered.length > 0;
    // A fault that comes of being stopped is none.
    return signal.aborted ? { needsPerson, stopped: true } : { ...result, needsPerson, stopped: false };
  } finally {
    await outgoing.stop();
    progress.stop();
  }
}

interface Totals {
  readonly events: number;
  readonly others: number;
  readonly waiting: number;
  readonly deadLetters: number;
}

async function totals({ partnerAccounts, bookKeeper }: EmbeddedState): Promise<Totals> {
  const accounts = await partnerAccounts.list();
  const books = await Promise.all(accounts.map(({ name, generation }) => bookKeeper.read(name, generation)));
  const sum = (pick: (entry: (typeof books)[number]) => number) =>
    books.reduce((total, entry) => total + pick(entry), 0);
  return {
    events: sum(({ events, unavailable }) => events + unavailable),
    others: sum(({ unchanged, coalesced }) => unchanged + coalesced),
    ...(await bookKeeper.queue()),
  };
}

function summary(before: Totals, now: Totals): string {
  // Below nothing only where an account was forgotten meanwhile.
  const parts = [
    `${count(Math.max(0, now.events - before.events))} events`,
    `${count(Math.max(0, now.others - before.others))} changes that needed none`,
    `${count(now.waiting)} waiting`,
    `${count(now.deadLetters)} dead-lettered`,
  ];
  return parts.join(', ');
}

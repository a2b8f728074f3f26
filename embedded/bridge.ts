/**
 * The embedded bridge runs the use cases of the Lambda functions in one process, over a state file: the poller reads the
 * feeds into the queue (poller.ts), the workers publish from it (workers.ts) to the event log, from which standard
 * output and the webhooks read (readers.ts).
 */
import { randomUUID } from 'node:crypto';
import { createAuditShare } from '../functions/drain/audit-share.ts';
import { createDrain } from '../functions/drain/drain.ts';
import { redeliveryLimits } from '../functions/fan-out/advert.ts';
import { createFanOut } from '../functions/fan-out/fan-out.ts';
import type { ChangedAdvert } from '../shared/contract/messages.ts';
import type { BridgeSettings } from '../shared/contract/settings.ts';
import { systemClock } from '../shared/domain/clock.ts';
import type { BridgeFault } from '../shared/domain/faults.ts';
import { blamingHold, endOfHold, type Holder, holdMeanings, holdOf } from '../shared/domain/holds.ts';
import { startLoop } from '../shared/domain/loop.ts';
import type { EventPublisher } from '../shared/ports/event-publisher.ts';
import type { Observer } from '../shared/ports/observer.ts';
import { createAnswers } from '../shared/state/activity.ts';
import { bridgeNameIn, createLocalPartner } from './partner.ts';
import { pollForEver, pollUntilIdle } from './poller.ts';
import { newRunId } from './state/file/run-lock.ts';
import type { EmbeddedState } from './state/state.ts';
import { startWorkers } from './workers.ts';

export interface EmbeddedBridgeOptions {
  readonly state: EmbeddedState;
  readonly baseUrl: string;
  readonly settings: BridgeSettings;
  /** Number of connections to the partner service, and of adverts fetched concurrently. */
  readonly concurrency: number;
  readonly events: EventPublisher;
  readonly observer: Observer;
  /** Aborting ends the run: work already started is finished, and no further request is sent. */
  readonly signal: AbortSignal;
  /** The run also ends when every feed is up to date and the queue is empty. */
  readonly untilIdle: boolean;
  /** Number of attempts when the service answers with an advert-specific fault, before the message is dead-lettered. */
  readonly advertTries: number;
}

/** Longer than on AWS, where a batch waits for its slowest advert: here all three attempts of the client fit. */
const fetchMs = 30_000;
const maxWaiting = 20_000;
const sweepMs = 60_000;
/** More frequent than the polling rounds, because a run until idle waits for the messages of a short pause. */
const releaseMs = 5_000;
const storeAnswersMs = 5_000;

/**
 * Runs the bridge until `signal` is aborted, or until idle. The caller must hold the run lock
 * (embedded/state/file/run-lock.ts).
 *
 * @returns why a feed could not be read, for a run until idle
 */
export async function runEmbeddedBridge(options: EmbeddedBridgeOptions): Promise<BridgeFault | undefined> {
  const { state, settings, concurrency, advertTries, events, observer, signal, untilIdle } = options;
  const { queue, budgetStore } = state;
  const clock = systemClock;
  const { maxRequestsPerSecond } = settings;
  const answers = createAnswers({ activity: state.activity, maxRequestsPerSecond, observer, clock });
  const bridge = await bridgeNameIn(state);
  const partner = createLocalPartner({ ...options, bridge, answers, stopped: signal, newId: newRunId });
  const common = { ...state, partnerAccounts: partner.partnerAccounts, observer, clock };

  const fanOut = createFanOut({
    ...common,
    random: Math.random,
    adverts: partner,
    events,
    settings: { ...settings, ...redeliveryLimits, advertTries, bridge, fetchMs },
  });
  const workers = startWorkers({ queue, fanOut, clock, observer, concurrency });

  async function send(messages: readonly ChangedAdvert[]) {
    const refused = await queue.send(messages);
    workers.wake();
    return refused;
  }
  const enqueuing = { ...common, queue: { ...queue, send }, newId: newReadId };
  const drain = createDrain({
    ...enqueuing,
    reader: partner,
    holder: newRunId(),
    ...(settings.auditSample > 0 && { sendAuditShare: createAuditShare({ ...enqueuing, settings }) }),
    settings: { ...settings, maxWaiting },
  });

  const every = (ms: number, work: (deadlineMs: number) => Promise<unknown>) =>
    startLoop(clock, async (stopping) => {
      if (stopping.aborted) return undefined;
      await work(clock.now() + ms);
      return ms;
    });
  const sweep = (deadlineMs: number) =>
    partner.refreshToken.sweep({ deadlineMs }).catch((error: unknown) => {
      observer.error('the tokens could not be checked', { error });
    });
  const background = [
    every(sweepMs, sweep),
    every(releaseMs, drain.release),
    every(storeAnswersMs, answers.store),
    workers,
  ];
  const poller = { drain, clock, observer, settings };
  try {
    const isDiskFull = () => state.fullDisk() !== undefined;
    if (!untilIdle) return await pollForEver({ ...poller, isDiskFull }, signal);
    const toDeliver = () => messagesToDeliver(state, clock.now());
    const inQueue = () => messagesInQueue(state, clock.now());
    const pausedUntil = async () => endOfHold(holdOf(await budgetStore.read(), undefined, clock.now()));
    // Each run tries again, however soon it ends.
    await drain.release(clock.now());
    return await pollUntilIdle({ ...poller, pausedUntil, toDeliver, inQueue }, signal);
  } finally {
    await Promise.all(background.map((loop) => loop.stop()));
    await answers.store();
    await partner.close();
  }
}

/** When the adverts of an account have failed for this long, a run until idle does not wait for its messages aside. */
const longFailingMs = 60_000;

/**
 * Number of messages, without those of partner accounts that are stopped or paused by an operator, and those that wait for
 * a later look, or until the service answers any advert of their account well.
 */
async function messagesToDeliver(state: EmbeddedState, nowMs: number): Promise<number> {
  const { partnerAccounts, queue, aside, budgetStore, bookKeeper } = state;
  const { waiting } = await bookKeeper.queue();
  if (waiting === 0) return 0;
  const bridge = await budgetStore.read();
  const excepted = await Promise.all(
    (await partnerAccounts.list(() => undefined)).map(async (account) => {
      const { since = nowMs } = blamingHold(account) ?? {};
      const isHeld = waitsForPerson(bridge, account, nowMs);
      const isHopeless = isHeld || nowMs - since >= longFailingMs;
      const held = await (isHopeless ? aside.count(account.name) : aside.countLater(account.name, nowMs));
      return isHeld ? held + (await queue.depth(account.name)) : held;
    }),
  );
  return excepted.reduce((left, count) => left - count, waiting);
}

/** Such a hold comes before all others. */
function waitsForPerson(bridge: Holder, account: Holder, nowMs: number): boolean {
  const hold = holdOf(bridge, account, nowMs);
  return hold !== undefined && holdMeanings[hold.kind].isForPerson;
}

/** Number of messages in the queue, without those that wait for a person. */
async function messagesInQueue(state: EmbeddedState, nowMs: number): Promise<number> {
  const bridge = await state.budgetStore.read();
  const accounts = await state.partnerAccounts.list(() => undefined);
  const served = accounts.filter((account) => !waitsForPerson(bridge, account, nowMs));
  const depths = await Promise.all(served.map(({ name }) => state.queue.depth(name)));
  return depths.reduce((sum, depth) => sum + depth, 0);
}

/** Short, because every message and event of a page contains it. */
const newReadId = (): string => randomUUID().replaceAll('-', '');

/**
 * The embedded bridge: the use cases of the Lambdas over SQLite, with the partner service reached over real HTTP. This
 * file only puts the parts together; workers.ts and poller.ts run them.
 */
import { randomUUID } from 'node:crypto';
import { createDrain, type Drain } from '../functions/drain/drain.ts';
import { createFanOut } from '../functions/fan-out/fan-out.ts';
import { createRefreshToken } from '../functions/refresh-token/refresh-token.ts';
import type { BridgeSettings } from '../shared/contract/settings.ts';
import { type Clock, systemClock } from '../shared/domain/clock.ts';
import type { PartnerError } from '../shared/domain/faults.ts';
import { stopOf } from '../shared/domain/partner-account.ts';
import { createPartnerService } from '../shared/partner-api/partner-service.ts';
import type { AdvertReader } from '../shared/ports/advert-reader.ts';
import type { ChangedAdvertsQueue } from '../shared/ports/changed-adverts-queue.ts';
import type { EventPublisher } from '../shared/ports/event-publisher.ts';
import type { Observer } from '../shared/ports/observer.ts';
import type { EmbeddedState } from '../shared/sqlite/state.ts';
import { refreshLockMs } from './connect.ts';
import { pollForEver, pollUntilIdle } from './poller.ts';
import { startWorkers } from './workers.ts';

export interface EmbeddedBridgeOptions {
  readonly state: EmbeddedState;
  readonly baseUrl: string;
  readonly settings: BridgeSettings;
  /** Adverts fetched side by side, and connections kept open. */
  readonly concurrency: number;
  readonly events: EventPublisher;
  readonly observer: Observer;
  /** Tries of an advert-specific fault before its message is dead-lettered. */
  readonly advertTries?: number;
  readonly clock?: Clock;
  readonly random?: () => number;
}

export interface RunOptions {
  /** Ends the run: what is in hand is finished first. */
  readonly signal: AbortSignal;
  /** Ends the run when every feed is up to date and the queue is empty. */
  readonly untilIdle: boolean;
}

export interface RunResult {
  /** What keeps a feed from being read; only of a run until idle. */
  readonly fault?: PartnerError;
  /** Whether something is left for a person: dead letters, or a partner account that is stopped. */
  readonly needsPerson: boolean;
}

const dayMs = 86_400_000;
const sweepMs = 60_000;
const releaseMs = 5_000;

export function createEmbeddedBridge(options: EmbeddedBridgeOptions) {
  const { state, settings, concurrency, events, observer } = options;
  const { clock = systemClock, random = Math.random, advertTries = 5 } = options;
  const holder = `run-${randomUUID()}`;
  const stopped = new AbortController();
  const partner = createPartnerService({
    ...{ baseUrl: options.baseUrl, settings, concurrency, observer, clock, random },
    budgetStore: state.budgetStore,
    accounts: state.partnerAccounts,
    tokenReader: state.vault,
    requester: { refresh: (request, options) => refreshToken.refresh(request, options) },
    stopped: stopped.signal,
  });
  const { client, accounts } = partner;
  const refreshToken = createRefreshToken({
    accounts,
    vault: state.vault,
    application: state.applicationSecret,
    endpoint: client,
    events,
    observer,
    clock,
    random,
    // Named as a run's: the next run frees what a dead one held.
    newId: () => `run-${randomUUID()}`,
    settings: { requiredScope: settings.requiredScope, lockMs: refreshLockMs },
  });
  const pausedUntil = async () => (await state.budgetStore.read()).pausedUntilMs;

  async function waitingForStopped(): Promise<number> {
    const stopped = (await state.partnerAccounts.list(() => undefined)).filter((account) => stopOf(account));
    const depths = await Promise.all(stopped.map(({ name }) => state.queue.depth(name)));
    return depths.reduce((sum, depth) => sum + depth, 0);
  }

  async function needsPerson(): Promise<boolean> {
    let unreadable = 0;
    const accounts = await state.partnerAccounts.list(() => {
      unreadable += 1;
    });
    const stops = accounts.map(stopOf);
    const { deadLetters } = await state.bookKeeper.queue();
    return unreadable > 0 || deadLetters > 0 || stops.some((stop) => stop && stop.reason !== 'disconnected');
  }

  async function sweepForEver(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const deadlineMs = clock.now() + sweepMs;
      await refreshToken.sweep({ deadlineMs }).catch((error: unknown) => {
        observer.error('the tokens could not be looked after', { error });
      });
      await clock.sleep(sweepMs, signal);
    }
  }

  /** More often than the rounds, and when there are none: a run until idle waits for what is parked in a short pause. */
  async function releaseForEver(drain: Drain, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await drain.release(clock.now() + releaseMs);
      await clock.sleep(releaseMs, signal);
    }
  }

  /** Runs until `signal`, or until idle. */
  async function run({ signal, untilIdle }: RunOptions): Promise<RunResult> {
    // Its connection is free: another advert may have it while this one waits for the disk.
    const readAdvert: AdvertReader['readAdvert'] = (partnerAccount, advertId, ...rest) =>
      partner
        .readAdvert(partnerAccount, advertId, ...rest)
        .finally(() => workers.fetched(partnerAccount, advertId));
    const fanOut = createFanOut({
      accounts,
      histories: state.advertHistories,
      adverts: { readAdvert },
      events,
      bridgePausedUntil: pausedUntil,
      observer,
      clock,
      random,
      settings: {
        // The queue's clock is this one.
        clockSkewMs: 0,
        advertTries,
        maxAgeMs: dayMs,
        confirmUnavailableSeconds: settings.confirmUnavailableSeconds,
        fetchMs: 30_000,
      },
    });
    const workers = startWorkers({
      inbox: state.queue,
      settler: state.queue,
      fanOut,
      clock,
      observer,
      concurrency,
    });
    const queue: ChangedAdvertsQueue = {
      depth: (partnerAccount) => state.queue.depth(partnerAccount),
      async send(messages) {
        const refused = await state.queue.send(messages);
        workers.wake();
        return refused;
      },
    };
    const drain = createDrain({
      accounts,
      feedStates: state.feedStates,
      reader: partner,
      queue,
      deadLetters: state.queue,
      parked: state.parked,
      bridgePausedUntil: pausedUntil,
      observer,
      clock,
      newId: newReadId,
      holder,
      settings: {
        overlapSeconds: settings.overlapSeconds,
        pollSeconds: settings.pollSeconds,
        maxRequestsPerSecond: settings.maxRequestsPerSecond,
        leaseMs: 90_000,
        maxWaiting: 20_000,
        feedsAtOnce: 10,
      },
    });
    const stopping = new AbortController();
    const until = AbortSignal.any([signal, stopping.signal]);
    signal.addEventListener('abort', () => stopped.abort());
    if (signal.aborted) stopped.abort();
    const poller = { drain, clock, observer, pollSeconds: settings.pollSeconds };
    const sweeping = sweepForEver(until);
    const releasing = releaseForEver(drain, until);
    try {
      const fault = untilIdle
        ? await pollUntilIdle(
            { ...poller, bookKeeper: state.bookKeeper, pausedUntil, waitingForStopped },
            signal,
          )
        : await pollForEver(poller, signal).then(() => undefined);
      return { fault, needsPerson: await needsPerson() };
    } finally {
      stopping.abort();
      await workers.stop();
      await sweeping;
      await releasing;
      client.close();
    }
  }

  return { run };
}

/** Short, for it stands in every message and event of its page. */
const newReadId = (): string => randomUUID().replaceAll('-', '');

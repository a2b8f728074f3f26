import { randomUUID } from 'node:crypto';
import { createAuthorize } from '../functions/refresh-token/authorize.ts';
import { createClientCheck } from '../functions/refresh-token/client-check.ts';
import { createConnect } from '../functions/refresh-token/connect.ts';
import type { BridgeSettings } from '../shared/contract/settings.ts';
import { type Clock, systemClock } from '../shared/domain/clock.ts';
import { PartnerError } from '../shared/domain/faults.ts';
import { createPartnerClient } from '../shared/partner-api/client.ts';
import { createRateLimiter, type RateLimiter } from '../shared/partner-api/rate-limit/rate-limiter.ts';
import type { EventPublisher } from '../shared/ports/event-publisher.ts';
import type { Observer } from '../shared/ports/observer.ts';
import type { EmbeddedState } from '../shared/sqlite/state.ts';

/** Longer than any refresh takes. */
export const refreshLockMs = 90_000;

export interface LocalPartnerOptions {
  readonly state: EmbeddedState;
  readonly baseUrl: string;
  readonly settings: BridgeSettings;
  readonly observer: Observer;
  /** Connections kept open. Default 1. */
  readonly concurrency?: number;
  readonly clock?: Clock;
  readonly random?: () => number;
  /** Once aborted no request is begun any more; those on their way end. */
  readonly stopped?: AbortSignal;
}

/** The partner client of an embedded bridge, with the rate budget that its state folder shares. */
export function createLocalClient(options: LocalPartnerOptions) {
  const { state, settings, observer, concurrency = 1, clock = systemClock, random = Math.random } = options;
  const { maxRequestsPerSecond, circuitSeconds, maxPauseSeconds, acceptLanguage } = settings;
  const rateLimiter = createRateLimiter({
    store: state.budgetStore,
    clock,
    random,
    observer,
    maxRequestsPerSecond,
    circuitSeconds,
  });
  return createPartnerClient({
    baseUrl: options.baseUrl,
    acceptLanguage,
    concurrency,
    rateLimiter: untilStopped(rateLimiter, options.stopped),
    observer,
    maxPauseSeconds,
    clock,
    random,
  });
}

/** So that a service that hangs does not keep a stopped bridge with attempt after attempt. */
const untilStopped = (rateLimiter: RateLimiter, stopped: AbortSignal | undefined): RateLimiter => ({
  ...rateLimiter,
  enter: (resource, deadlineMs) =>
    stopped?.aborted
      ? Promise.reject(new PartnerError('paused', `not sent (${resource}): the bridge is stopping`))
      : rateLimiter.enter(resource, deadlineMs),
});

/**
 * Authorizing, connecting and disconnecting on the embedded state; events about it stay owed until the bridge runs, for only `run`
 * has somebody to give them to. Call `close` when done.
 */
export function createLocalConnect(options: LocalPartnerOptions) {
  const { state, settings, observer, clock = systemClock } = options;
  const client = createLocalClient(options);
  const deps = {
    accounts: state.partnerAccounts,
    feedStates: state.feedStates,
    vault: state.vault,
    application: state.applicationSecret,
    endpoint: client,
    feedProbe: client,
    knownAdverts: state.advertHistories,
    bookKeeper: state.bookKeeper,
    events: noSubscriberYet,
    observer,
    clock,
    newId: () => `connect-${randomUUID()}`,
    settings: { ...settings, lockMs: refreshLockMs },
  };
  const { authorize } = createAuthorize({
    application: state.applicationSecret,
    consentPage: client,
    settings,
  });
  return {
    ...createConnect(deps),
    ...createClientCheck(deps),
    authorize,
    close: () => client.close(),
  };
}

export const noSubscriberYet: EventPublisher = {
  publish: () => Promise.reject(new Error('events are published by run')),
};

/** Puts the client of the partner service together: the one place that does, for functions, commands and the embedded bridge. */
import type { BridgeSettings } from '../contract/settings.ts';
import { type Clock, systemClock } from '../domain/clock.ts';
import { PartnerError } from '../domain/faults.ts';
import type { BudgetStore } from '../ports/budget-store.ts';
import type { Observer } from '../ports/observer.ts';
import type { PartnerAccounts } from '../ports/partner-accounts.ts';
import type { RefreshRequester } from '../ports/refresh-requester.ts';
import type { TokenReader } from '../ports/token-vault.ts';
import { createPartnerClient, type PartnerClient } from './client.ts';
import { createRateLimiter, type RateLimiter } from './rate-limit/rate-limiter.ts';
import { createPartnerReaders } from './readers.ts';
import { ViewedAccounts } from './tokens/account-views.ts';
import { createTokenSource } from './tokens/token-source.ts';

export interface LimitedClientOptions {
  readonly baseUrl: string;
  readonly settings: Pick<
    BridgeSettings,
    'maxRequestsPerSecond' | 'circuitSeconds' | 'maxPauseSeconds' | 'acceptLanguage'
  >;
  /** The rate budget that all processes of the bridge share. */
  readonly budgetStore: BudgetStore;
  readonly observer: Observer;
  /** Connections kept open. Default 1. */
  readonly concurrency?: number;
  readonly clock?: Clock;
  readonly random?: () => number;
  /** Once aborted, no request is begun any more; those on their way end. Default: never. */
  readonly stopped?: AbortSignal;
}

export interface PartnerServiceOptions extends LimitedClientOptions {
  readonly accounts: PartnerAccounts;
  readonly tokenReader: TokenReader;
  readonly requester: RefreshRequester;
}

/** The client of the partner service behind the bridge's rate limiter, for who brings tokens along. */
export function createLimitedClient(options: LimitedClientOptions): PartnerClient {
  const { baseUrl, settings, budgetStore, observer, concurrency = 1, stopped } = options;
  const edges = { clock: options.clock ?? systemClock, random: options.random ?? Math.random, observer };
  const { maxRequestsPerSecond, circuitSeconds, maxPauseSeconds, acceptLanguage } = settings;
  const rateLimiter = createRateLimiter({
    ...edges,
    store: budgetStore,
    maxRequestsPerSecond,
    circuitSeconds,
  });
  return createPartnerClient({
    ...edges,
    baseUrl,
    acceptLanguage,
    concurrency,
    rateLimiter: stopped ? untilStopped(rateLimiter, stopped) : rateLimiter,
    maxPauseSeconds,
  });
}

/**
 * What reads the partner service for known partner accounts: feeds and adverts, with tokens that are renewed when they
 * have expired. One for each process.
 *
 * @returns also the client, and `accounts`: the rows as this process knows them, to be used in place of those given
 */
export function createPartnerService(options: PartnerServiceOptions) {
  const { tokenReader: reader, requester, clock = systemClock } = options;
  const client = createLimitedClient(options);
  const accounts = new ViewedAccounts(options.accounts, clock);
  const tokens = createTokenSource({ reader, requester, accounts, clock });
  return { client, accounts, ...createPartnerReaders({ client, tokens }) };
}

/** So that a service that hangs does not keep a stopped bridge with attempt after attempt. */
const untilStopped = (rateLimiter: RateLimiter, stopped: AbortSignal): RateLimiter => ({
  answered: (...answer) => rateLimiter.answered(...answer),
  enter: (resource, ...rest) =>
    stopped.aborted
      ? Promise.reject(new PartnerError('paused', `not sent (${resource}): the bridge is stopping`))
      : rateLimiter.enter(resource, ...rest),
});

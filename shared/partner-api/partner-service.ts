/** Creates the client of the partner service, for functions, commands and the embedded bridge. */
import type { BridgeSettings } from '../contract/settings.ts';
import { type Clock, systemClock } from '../domain/clock.ts';
import type { Observer } from '../ports/observer.ts';
import type { RefreshRequester } from '../ports/refresh-requester.ts';
import type { TokenReader } from '../ports/token-vault.ts';
import type { Answers } from '../state/activity.ts';
import type { BudgetStore } from '../state/budget.ts';
import type { PartnerAccounts } from '../state/partner-accounts.ts';
import { createPartnerClient, type PartnerClient } from './client.ts';
import { createHoldKeeper } from './holds/hold-keeper.ts';
import { createRateLimiter } from './rate-limit/rate-limiter.ts';
import { createPartnerReaders } from './readers.ts';
import { CachedAccounts } from './tokens/cached-accounts.ts';
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
  /** Counts the answers of the service. Default: nobody does. */
  readonly answers?: Pick<Answers, 'note'>;
  /** Number of open connections. Default 1. */
  readonly concurrency?: number;
  readonly clock?: Clock;
  readonly random?: () => number;
  /** When aborted, no new request begins; requests in flight are completed. Default: never. */
  readonly stopped?: AbortSignal;
}

export interface PartnerServiceOptions extends LimitedClientOptions {
  readonly accounts: Pick<PartnerAccounts, 'list' | 'read' | 'change'>;
  readonly tokenReader: TokenReader;
  readonly requester: RefreshRequester;
}

/** Creates the client of the partner service with the bridge's rate limiter, for callers that have their own tokens. */
export const createLimitedClient = (options: LimitedClientOptions): PartnerClient => limited(options).client;

/** @returns also what makes holds of the service's answers */
function limited(options: LimitedClientOptions, accounts?: CachedAccounts) {
  const { baseUrl, settings, budgetStore: store, observer, concurrency = 1, stopped, answers } = options;
  const edges = { clock: options.clock ?? systemClock, random: options.random ?? Math.random, observer };
  const { maxRequestsPerSecond, circuitSeconds, maxPauseSeconds, acceptLanguage } = settings;
  const rateLimiter = createRateLimiter({ ...edges, store, maxRequestsPerSecond, stopped });
  const holds = createHoldKeeper({ ...edges, rateLimiter, accounts, circuitSeconds });
  const limits = { concurrency, rateLimiter, holds, maxPauseSeconds, answers };
  return { client: createPartnerClient({ ...edges, ...limits, baseUrl, acceptLanguage }), holds };
}

/**
 * Creates the readers for known partner accounts: feeds and adverts, with tokens that are renewed when they expire. One
 * per process.
 *
 * @returns also the client, and `accounts`: the cached rows, to use instead of the given port
 */
export function createPartnerService(options: PartnerServiceOptions) {
  const { tokenReader: reader, requester, clock = systemClock } = options;
  const accounts = new CachedAccounts(options.accounts, clock);
  const { client, holds } = limited(options, accounts);
  const tokens = createTokenSource({ reader, requester, accounts, holds, clock });
  return { client, accounts, ...createPartnerReaders({ client, tokens }) };
}

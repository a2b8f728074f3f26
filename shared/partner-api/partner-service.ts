/** Creates the client of the partner service, for functions, commands and the embedded bridge. */

import { feeds } from '../contract/messages.ts';
import type { BridgeSettings } from '../contract/settings.ts';
import { type Clock, systemClock } from '../domain/clock.ts';
import { BridgeFault } from '../domain/faults.ts';
import type { Observer } from '../ports/observer.ts';
import type { AdvertReader, FeedReader } from '../ports/readers.ts';
import type { AccessToken, RefreshRequester, TokenReader, TokenSource } from '../ports/tokens.ts';
import type { Answers } from '../state/activity.ts';
import type { BudgetStore } from '../state/budget.ts';
import type { PartnerAccounts } from '../state/partner-accounts.ts';
import type { AdvertList } from './answers.ts';
import { CachedAccounts, CachedBudget } from './cached-rows.ts';
import {
  type AccessTokenOf,
  type CallOptions,
  createPartnerClient,
  type ListQuery,
  type PartnerClient,
} from './client.ts';
import { createHoldKeeper } from './hold-keeper.ts';
import { createRateLimiter } from './rate-limiter.ts';
import { createTokenSource } from './token-source.ts';
import type { Transport } from './transport.ts';

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
  /** The simulation replaces it. */
  readonly transport?: Transport;
  readonly attemptTimeoutMs?: number;
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
  const { settings, budgetStore, stopped, ...rest } = options;
  const edges = { clock: systemClock, random: Math.random, concurrency: 1, ...rest };
  const { maxRequestsPerSecond, circuitSeconds, maxPauseSeconds, acceptLanguage } = settings;
  const budget = new CachedBudget(budgetStore, edges.clock);
  const rateLimiter = createRateLimiter({ ...edges, budget, maxRequestsPerSecond, stopped });
  const holds = createHoldKeeper({ ...edges, budget, accounts, circuitSeconds });
  const client = createPartnerClient({ ...edges, rateLimiter, holds, maxPauseSeconds, acceptLanguage });
  return { client, holds };
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

export interface ReaderOptions {
  readonly client: Pick<PartnerClient, 'feedPage' | 'advert' | 'adverts'>;
  readonly tokens: TokenSource;
}

export interface AdvertLister {
  /**
   * Reads the IDs of one page of a partner account's adverts, for a backfill.
   *
   * @throws {BridgeFault}
   * @see partner-api.md §4.2
   */
  listAdverts(
    partnerAccount: string,
    query: ListQuery,
    options: { readonly generation: number; readonly deadlineMs: number },
  ): Promise<AdvertList>;
}

export type PartnerReaders = FeedReader & AdvertReader & AdvertLister;

interface Whose {
  readonly partnerAccount: string;
  /** A token of another generation is not used. */
  readonly generation: number;
  readonly deadlineMs: number;
}

/** More resources than this are not remembered; then one of them is renewed for once more. */
const maxRenewedFor = 10_000;

type Send<T> = (token: AccessTokenOf, options: CallOptions) => Promise<T>;
type WithToken = <T>(whose: Whose, send: Send<T>) => Promise<T>;

/**
 * Sends a request with the partner account's token. A rejected token is renewed and the request is repeated once. If
 * the scope of the token is too small, it is reported, which stops the partner account, and the request fails, because
 * a refresh cannot widen a scope.
 */
function sendWith(tokens: TokenSource): WithToken {
  /** The version that was the renewed one when the resource rejected that, too. */
  const renewedFor = new Map<string, string>();

  return async ({ partnerAccount, generation, deadlineMs }, send) => {
    let used = { version: '', resource: '' };
    const token = (resource: string) => {
      const taken = (found: AccessToken) => {
        used = { version: found.version, resource };
        return found.token;
      };
      const found = tokens.current(partnerAccount, generation, deadlineMs, resource);
      return found instanceof Promise ? found.then(taken) : taken(found);
    };
    let isRepeated = false;
    // Rule: one-renewal-for-an-advert
    const isUndecided = ({ code }: BridgeFault) =>
      code === 'token-rejected' && !isRepeated && renewedFor.get(used.resource) !== used.version;
    for (;;) {
      try {
        return await send(token, { partnerAccount, deadlineMs, isUndecided });
      } catch (fault) {
        if (!(fault instanceof BridgeFault)) throw fault;
        const { version, resource } = used;
        if (fault.code === 'scope-insufficient') {
          tokens.reject(partnerAccount, version, fault.code);
          // The request has failed, whatever the result of reporting the token.
          await (async () => token(resource))().catch(() => undefined);
        }
        if (fault.code !== 'token-rejected') throw fault;
        if (!isUndecided(fault)) {
          if (renewedFor.size >= maxRenewedFor) renewedFor.clear();
          renewedFor.set(resource, version);
          throw fault;
        }
        isRepeated = true;
        tokens.reject(partnerAccount, version, fault.code);
      }
    }
  };
}

/** Reads feeds and adverts of known partner accounts. */
export function createPartnerReaders({ client, tokens }: ReaderOptions): PartnerReaders {
  const withToken = sendWith(tokens);
  return {
    readPage: (partnerAccount, query, options) =>
      withToken({ partnerAccount, ...options }, (token, callOptions) =>
        client.feedPage(token, query, callOptions),
      ),
    readAdvert: (partnerAccount, advertId, { feed, ...options }) =>
      withToken({ partnerAccount, ...options }, (token, callOptions) =>
        client.advert(token, feeds[feed], advertId, callOptions),
      ),
    listAdverts: (partnerAccount, query, options) =>
      withToken({ partnerAccount, ...options }, (token, callOptions) =>
        client.adverts(token, query, callOptions),
      ),
  };
}

/**
 * The client of the partner service. Each call has a deadline, and each of its attempts a time limit. Every attempt
 * takes a connection, then a slot of the rate budget, then its token, and reports its result to the rate limiter.
 */

import { checked } from '../contract/checks.ts';
import type { Feed } from '../contract/messages.ts';
import { partnerBaseUrl } from '../contract/settings.ts';
import { type Clock, systemClock } from '../domain/clock.ts';
import type { BridgeFault } from '../domain/faults.ts';
import type { Secret } from '../domain/secret.ts';
import type { Observer } from '../ports/observer.ts';
import type { FeedQuery, ObservedAdvert, ReceivedPage } from '../ports/readers.ts';
import type { ConsentPage, Grant, TokenEndpoint } from '../ports/tokens.ts';
import type { Answers } from '../state/activity.ts';
import { type AdvertList, advertIn, listIn, pageIn, tokensIn } from './answers.ts';
import { createCaller, getPolicy, tokenPolicy } from './call.ts';
import { mayBeCursorRejection } from './error-answers.ts';
import type { HoldKeeper } from './hold-keeper.ts';
import type { RateLimiter } from './rate-limiter.ts';
import { authorizeUrl, createHeaders, feedQuery, objectPath, paths, queryOf, tokenBody } from './requests.ts';
import { claimedDate, createServiceClock } from './service-clock.ts';
import { createTransport, type Transport } from './transport.ts';

export interface PartnerClientOptions {
  /** https, or http on loopback. A path in this URL is the prefix of every path of the service. */
  readonly baseUrl: string;
  /** Language of texts in the answers. @see partner-api.md §9 */
  readonly acceptLanguage?: string;
  /** Maximum number of concurrent requests and open sockets. Default 10. */
  readonly concurrency?: number;
  /** The rate limiter for all requests. */
  readonly rateLimiter: RateLimiter;
  readonly holds: HoldKeeper;
  readonly clock?: Clock;
  readonly random?: () => number;
  /** Time limit of one attempt, from connecting to the last byte. Default 10,000. */
  readonly attemptTimeoutMs?: number;
  /** The longest pause that the bridge accepts from the service. Default 3,600. */
  readonly maxPauseSeconds?: number;
  /** Counts the answers. Default: nobody does. */
  readonly answers?: Pick<Answers, 'note'>;
  /** Called once if the service's clock is off by more than a day. */
  readonly observer?: Observer;
  /** Default: HTTP to the base URL. The simulation replaces it. */
  readonly transport?: Transport;
}

export interface CallOptions {
  /** Milliseconds since 1970: no attempt begins after this moment. */
  readonly deadlineMs: number;
  /** Owner of the token: bad answers about several of its adverts put it on hold. */
  readonly partnerAccount?: string;
  /** Whether the caller repeats the request after this fault, so that the fault decides nothing. Default: no. */
  readonly isUndecided?: (fault: BridgeFault) => boolean;
}

/**
 * An access token, or what returns it. It is asked before a request waits for its connection and its slot, so that a
 * token is renewed before that, and again when the request is about to be sent. If it throws, nothing is sent.
 */
export type AccessTokenOf = Secret | ((resource: string) => Secret | Promise<Secret>);

/** Paging of the advert list. Assumed, because §4.2 does not show it. */
export interface ListQuery {
  /** The page number, from 1, or the number of adverts before the page. */
  readonly position: number;
  /** Page size; the document's example is 100. */
  readonly limit: number;
  /** Names of the query parameters. Default: `page` and `limit`. */
  readonly positionParameter?: string;
  readonly limitParameter?: string;
}

/** The calls that the bridge makes to the service. All methods throw {BridgeFault}; none depends on `this`. */
export interface PartnerClient extends TokenEndpoint, ConsentPage {
  /** Reads one page of a feed. @see partner-api.md §4.1 */
  feedPage(token: AccessTokenOf, query: FeedQuery, options: CallOptions): Promise<ReceivedPage>;
  /** Reads the status of one object of a feed. @see partner-api.md §4.3 */
  advert(token: AccessTokenOf, feed: Feed, id: string, options: CallOptions): Promise<ObservedAdvert>;
  /** Reads adverts of the user. Paging and shape are assumed. @see partner-api.md §4.2 */
  adverts(token: AccessTokenOf, query: ListQuery, options: CallOptions): Promise<AdvertList>;
  /** Closes idle connections. */
  close(): void;
}

/** A page of 1000 IDs has 24 KB. */
const maxAnswerBytes = 1_048_576;

/**
 * Creates a client; no connection is made before the first request.
 *
 * @throws {ShapeError} when the base URL is invalid
 */
export function createPartnerClient(options: PartnerClientOptions): PartnerClient {
  const { acceptLanguage, concurrency = 10, rateLimiter, attemptTimeoutMs = 10_000, answers } = options;
  const { maxPauseSeconds = 3_600, clock = systemClock, random = Math.random } = options;
  const baseUrl = checked(partnerBaseUrl, options.baseUrl, 'base URL');
  const origin = new URL(baseUrl);
  const prefix = origin.pathname.replace(/\/+$/, '');
  const headers = createHeaders(origin.host, acceptLanguage);
  const transport = options.transport ?? createTransport({ origin, concurrency, maxAnswerBytes });
  const maxPauseMs = maxPauseSeconds * 1000;
  const { holds } = options;
  const call = createCaller({
    ...{ transport, rateLimiter, holds, clock, random, concurrency, attemptTimeoutMs, maxPauseMs, answers },
  });
  const serviceTimeOf = createServiceClock(options.observer);

  /** A GET under /api/partner. Faults and the rate limiter use `path` without the query as its name. */
  function get(token: AccessTokenOf, path: string, query: string, options: CallOptions) {
    const { partnerAccount, deadlineMs, isUndecided } = options;
    const wirePath = prefix + path + query;
    return {
      wire: (secret: Secret) => ({ method: 'GET', path: wirePath, headers: headers.of(secret) }) as const,
      token: typeof token === 'function' ? token : () => token,
      account: partnerAccount,
      resource: partnerAccount === undefined ? path : `${partnerAccount} ${path}`,
      what: `GET ${path}`,
      endpoint: 'api',
      deadlineMs,
      isUndecided,
    } as const;
  }

  return {
    async feedPage(token, query, callOptions) {
      const request = get(token, query.feed.path, feedQuery(query), callOptions);
      // The drain repeats the request without the cursor, and that answer counts.
      const isUndecided = (fault: BridgeFault) =>
        request.isUndecided?.(fault) === true || (query.cursor !== undefined && mayBeCursorRejection(fault));
      return call({ ...request, isUndecided }, getPolicy, (answer, { receivedAt, token: used }) => ({
        page: pageIn(answer, { what: request.what, token: used }, query.limit),
        receivedAt,
        serviceTime: serviceTimeOf(answer.head.headers.date, receivedAt),
      }));
    },

    async advert(token, feed, id, callOptions) {
      const request = get(token, objectPath(feed, id), '', callOptions);
      return call(request, getPolicy, (answer, { receivedAt, token: used }) => ({
        ...advertIn(answer, { what: request.what, token: used }, id),
        receivedAt,
      }));
    },

    async adverts(token, query, callOptions) {
      const { position, limit, positionParameter = 'page', limitParameter = 'limit' } = query;
      const paging = queryOf({ [positionParameter]: String(position), [limitParameter]: String(limit) });
      const request = get(token, paths.adverts, paging, callOptions);
      return call(request, getPolicy, (answer, { token: used }) =>
        listIn(answer, { what: request.what, token: used }),
      );
    },

    /** @see partner-api.md §4.6, §5.3 */
    async requestTokens(application, grant, { deadlineMs }) {
      const body = tokenBody(application, grant);
      const what = `POST ${paths.token}`;
      const path = prefix + paths.token;
      const wire = () => ({ method: 'POST', path, headers: headers.withBody(body), body }) as const;
      const secrets = [application.clientSecret, application.clientId, ...secretsOf(grant)];
      const request = { wire, resource: paths.token, what, endpoint: 'token', secrets, deadlineMs } as const;
      return call(request, tokenPolicy, (answer, { sentAt, receivedAt }) => {
        const { date } = answer.head.headers;
        const claimedTime = claimedDate(date);
        return {
          ...tokensIn(answer, what, [application.clientSecret, ...secretsOf(grant)]),
          sentAt,
          receivedAt,
          serviceTime: serviceTimeOf(date, receivedAt),
          ...(claimedTime !== undefined && { claimedTime }),
        };
      });
    },

    authorizeUrl: (query) => authorizeUrl(baseUrl, query),
    close: transport.close,
  };
}

function secretsOf(grant: Grant): Secret[] {
  if (grant.type === 'refresh_token') return [grant.refreshToken];
  return grant.type === 'authorization_code' ? [grant.code] : [];
}

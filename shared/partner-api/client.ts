import { checked } from '../contract/checks.ts';
import { type FeedName, feeds } from '../contract/messages.ts';
import { type BridgeSettings, partnerBaseUrl } from '../contract/settings.ts';
import { type Deadline, systemClock } from '../domain/clock.ts';
import { type Application, Secret } from '../domain/secret.ts';
import type { Observer } from '../ports/observer.ts';
import type { Grant, ReceivedTokens } from '../ports/tokens.ts';
import type { BudgetStore } from '../state/budget.ts';
import { type AdvertList, advertIn, listIn, pageIn, tokensIn } from './answers.ts';
import { type CachedAccounts, createCachedBudget } from './cached-rows.ts';
import { type CallerOptions, type CallRequest, createCaller, type Gates } from './call.ts';
import { mayBeCursorRejection, type Sent } from './error-answers.ts';
import { createHoldKeeper } from './hold-keeper.ts';
import { createRateLimiter } from './rate-limiter.ts';
import type { CallOptions, FeedQuery, ObservedAdvert, ReceivedPage } from './readings.ts';
import { bearer, commonHeaders, objectPath, paths, queryOf } from './requests.ts';
import { claimedDate, createServiceClock } from './service-clock.ts';
import { type TokenSource, withTokenOf } from './token-source.ts';
import { createTransport, type Transport } from './transport.ts';

export interface PartnerClientOptions extends CallerOptions {
  /** https, or http on loopback. A path in this URL is the prefix of every path of the service. */
  readonly baseUrl: string;
  readonly settings: Pick<
    BridgeSettings,
    'maxRequestsPerSecond' | 'circuitSeconds' | 'maxPauseSeconds' | 'acceptLanguage'
  >;
  /** The rate budget that all processes of the bridge share. */
  readonly budgetStore: BudgetStore;
  readonly observer: Observer;
  /** When aborted, no new request begins; requests in flight are completed. Default: never. */
  readonly stopped?: AbortSignal;
  /** Default: HTTP to the base URL. The simulation replaces it. */
  readonly transport?: Transport;
}

/** A read takes a token of the caller, or the account's current one, which is renewed when it expires. */
type ReadOptions = CallOptions | (Deadline & { readonly token: Secret });

/** Paging of the advert list. Assumed, because partner-api.md §4.2 does not show it. */
export interface ListQuery {
  /** The page number, from 1, or the number of adverts before the page. */
  readonly position: number;
  /** Page size; the document's example is 100. */
  readonly limit: number;
  /** Names of the query parameters. */
  readonly positionParameter: string;
  readonly limitParameter: string;
}

interface Reading<T> {
  readonly path: string;
  readonly query?: string;
  readonly read: (sent: Sent) => T;
  /** Whether the fault may be caused only by the cursor. */
  readonly mayBeCursor?: CallRequest['isUndecided'];
}

/** A page of 1000 IDs has 24 KB. */
const maxAnswerBytes = 1_048_576;

/** @param partnerAccounts absent: answers hold no account, only the bridge */
export function createGates(options: PartnerClientOptions, partnerAccounts?: CachedAccounts) {
  const { clock = systemClock, observer, stopped, settings } = options;
  const budget = createCachedBudget(options.budgetStore, clock);
  const shared = { ...settings, budget, partnerAccounts, clock, observer, stopped };
  return { rateLimiter: createRateLimiter(shared), holds: createHoldKeeper(shared), budget };
}

export type PartnerClient = ReturnType<typeof createPartnerClient>;

/**
 * The calls that the bridge makes to the service. All methods throw {BridgeFault}; none depends on `this`. No connection
 * is made before the first request.
 * @param tokens absent: only requests with a token that the caller has
 * @throws {ShapeError} when the base URL is invalid
 */
export function createPartnerClient(
  options: PartnerClientOptions,
  gates: Gates = createGates(options),
  tokens?: TokenSource,
) {
  const { concurrency = 1, settings } = options;
  const baseUrl = checked(partnerBaseUrl, options.baseUrl, 'base URL');
  const origin = new URL(baseUrl);
  const prefix = origin.pathname.replace(/\/+$/, '');
  const headers = commonHeaders(origin.host, settings.acceptLanguage);
  const transport = options.transport ?? createTransport({ origin, concurrency, maxAnswerBytes });
  const maxPauseMs = settings.maxPauseSeconds * 1000;
  const call = createCaller(gates, transport, { ...options, baseUrl, maxPauseMs });
  const serviceTimeOf = createServiceClock(options.observer);
  const timeOf = ({ answer, receivedAt }: Sent) => serviceTimeOf(answer.head.headers.date, receivedAt);

  const withToken = tokens && withTokenOf(tokens);

  /** A GET under /api/partner. */
  function get<T>(
    { path, query = '', read, mayBeCursor }: Reading<T>,
    partnerAccount: string,
    options: ReadOptions,
  ): Promise<T> {
    const send = (token: CallRequest['token'], mayBeToken?: CallRequest['isUndecided']) =>
      call(
        {
          token,
          partnerAccount,
          deadlineMs: options.deadlineMs,
          what: `GET ${path}`,
          resource: `${partnerAccount} ${path}`,
          isUndecided: (fault) => mayBeToken?.(fault) === true || mayBeCursor?.(fault) === true,
          wire: (secret) => ({
            method: 'GET',
            path: prefix + path + query,
            headers: [...headers, 'Authorization', bearer(secret)],
          }),
        },
        read,
      );
    if ('token' in options) return send(async () => options.token);
    if (!withToken) throw new Error('this client has no tokens of its own');
    return withToken({ partnerAccount, ...options }, send);
  }

  return {
    /** Reads one page of a feed. @see partner-api.md §4.1 */
    async readPage(partnerAccount: string, page: FeedQuery, options: ReadOptions): Promise<ReceivedPage> {
      const { feed, since, cursor, limit } = page;
      const query = queryOf({ since, cursor, limit: String(limit) });
      const read = (sent: Sent) => ({
        page: pageIn(sent),
        receivedAt: sent.receivedAt,
        serviceTime: timeOf(sent),
      });
      // The drain repeats the request without the cursor, and that answer counts.
      const mayBeCursor = cursor === undefined ? undefined : mayBeCursorRejection;
      return get({ path: feed.path, query, read, mayBeCursor }, partnerAccount, options);
    },

    /** Reads the status of one object of a feed. @see partner-api.md §4.3 */
    async readAdvert(
      partnerAccount: string,
      id: string,
      { feed, ...options }: ReadOptions & { readonly feed: FeedName },
    ): Promise<ObservedAdvert> {
      const read = (sent: Sent) => ({ ...advertIn(sent, id), receivedAt: sent.receivedAt });
      return get({ path: objectPath(feeds[feed], id), read }, partnerAccount, options);
    },

    /** The IDs of one page of the user's adverts. Paging and shape are assumed. @see partner-api.md §4.2 */
    async listAdverts(partnerAccount: string, page: ListQuery, options: ReadOptions): Promise<AdvertList> {
      const { position, limit, positionParameter, limitParameter } = page;
      const query = queryOf({ [positionParameter]: String(position), [limitParameter]: String(limit) });
      return get({ path: paths.adverts, query, read: listIn }, partnerAccount, options);
    },

    /** @see partner-api.md §4.6, §5.3 */
    async requestTokens(
      application: Application,
      grant: Grant,
      { deadlineMs }: Deadline,
    ): Promise<ReceivedTokens> {
      const { clientId: client_id, clientSecret: client_secret } = application;
      const fields = Object.entries<Secret | string>({ ...grant, client_id, client_secret });
      const secrets = fields.map(([, value]) => value).filter((value) => value instanceof Secret);
      const shown = fields.map(([name, value]) => [name, value instanceof Secret ? value.reveal() : value]);
      const body = JSON.stringify(Object.fromEntries(shown));
      const what = `POST ${paths.token}`;
      const path = prefix + paths.token;
      const length = String(Buffer.byteLength(body));
      const ofBody = ['Content-Type', 'application/json', 'Content-Length', length];
      const wire = () => ({ method: 'POST', path, headers: [...headers, ...ofBody], body }) as const;
      const request = { wire, resource: paths.token, what, deadlineMs, secrets };
      return call(request, (sent) => ({
        ...tokensIn(sent),
        sentAt: sent.sentAt,
        receivedAt: sent.receivedAt,
        serviceTime: timeOf(sent),
        claimedTime: claimedDate(sent.answer.head.headers.date),
      }));
    },

    /**
     * The address of the page that asks the user for consent. @see partner-api.md §4.7, §5.3
     *
     * @param query.scope space separated
     * @param query.state random; the service returns it unchanged
     * @param query.redirectUri needed when several callback URLs are registered; then also in the token request
     */
    authorizeUrl(query: { clientId: Secret; scope: string; state: string; redirectUri?: string }): string {
      const { clientId, scope, state, redirectUri: redirect_uri } = query;
      const fields = { client_id: clientId.reveal(), response_type: 'code', scope, state, redirect_uri };
      return baseUrl + paths.authorize + queryOf(fields);
    },

    /** Closes idle connections. */
    close: transport.close,
  };
}

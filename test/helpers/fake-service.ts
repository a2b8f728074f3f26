import type { ConnectDeps } from '../../functions/connect/connected-row.ts';
import type { Clock } from '../../shared/domain/clock.ts';
import { BridgeFault } from '../../shared/domain/faults.ts';
import type { Secret } from '../../shared/domain/secret.ts';
import type { PartnerClient } from '../../shared/partner-api/client.ts';
import type { FeedQuery, ReceivedPage } from '../../shared/partner-api/readings.ts';
import type { Grant, ReceivedTokens } from '../../shared/ports/tokens.ts';

/** The partner service as ports, without HTTP, for use cases. The sandbox is the service with HTTP. */
export function createFakeService(clock: Clock) {
  const statuses = new Map<string, string>();
  /** The IDs as the feed names them; tests put malformed ones in, too. */
  const changes: unknown[] = [];
  const feedRequests: FeedQuery[] = [];
  const fetched: string[] = [];
  const grants: Grant[] = [];
  let issued = 0;
  const state = {
    pageSize: 1000,
    /** Throws, or changes things, before a page is read. */
    beforePage: (_query: FeedQuery): void => undefined,
    /** Likewise before an advert is answered. */
    beforeAdvert: (_advertId: string): void => undefined,
    tokens: (_grant: Grant): ReceivedTokens['answer'] => {
      issued += 1;
      return {
        access_token: `access-${issued}`,
        refresh_token: `refresh-${issued}`,
        expires_in: 86_400,
        token_type: 'bearer',
        scope: 'v2 read write',
      };
    },
    /** Answers the requests of `connect`, which are not in {@link feedRequests}: those are the drain's. */
    pageOfConnect: async (
      _query: FeedQuery,
      _options: { partnerAccount: string; token: Secret; deadlineMs: number },
    ): Promise<Pick<ReceivedPage['page'], 'data' | 'hasMore'>> => ({
      data: changes.slice(0, 100),
      hasMore: changes.length > 100,
    }),
    /** Given instead of the real next cursor. */
    nextCursor: undefined as string | undefined,
  };

  const client: Omit<ConnectDeps['client'], 'readPage'> = {
    authorizeUrl: ({ state }) => `https://service.example/?state=${state}`,
    async requestTokens(_application, grant) {
      grants.push(grant);
      return {
        answer: state.tokens(grant),
        ...{ sentAt: clock.now(), receivedAt: clock.now(), serviceTime: clock.now() },
      };
    },
  };
  const reader: Pick<PartnerClient, 'readPage' | 'readAdvert'> = {
    async readPage(partnerAccount, query, options): Promise<ReceivedPage> {
      const answered = () => ({ receivedAt: clock.now(), serviceTime: clock.now() });
      if ('token' in options) {
        const page = await state.pageOfConnect(query, { partnerAccount, ...options });
        return { page: { ...page, nextCursor: 'next' }, ...answered() };
      }
      feedRequests.push(query);
      state.beforePage(query);
      const from = query.cursor === undefined ? 0 : Number(query.cursor);
      const data = changes.slice(from, from + Math.min(state.pageSize, query.limit));
      const end = from + data.length;
      return {
        page: { data, hasMore: end < changes.length, nextCursor: state.nextCursor ?? String(end) },
        ...answered(),
      };
    },
    async readAdvert(_partnerAccount, advertId) {
      fetched.push(advertId);
      state.beforeAdvert(advertId);
      const status = statuses.get(advertId);
      if (status === undefined) throw new BridgeFault('not-found', 'no such advert', { status: 404 });
      const advert = () => ({ id: advertId, status, title: `Advert ${advertId}`, price: { value: 12 } });
      return { status, advert, receivedAt: clock.now() };
    },
  };
  return {
    ...reader,
    ...client,
    state,
    feedRequests,
    fetched,
    grants,
    /** null where there is no such advert. */
    statusOf: (advertId: string): string | null => statuses.get(advertId) ?? null,
    /** Gives the advert a status that the feed does not name. */
    know: (advertId: string, status: string): void => void statuses.set(advertId, status),
    /** Gives the advert a status, and has the feed name it. */
    change(advertId: string, status: string): void {
      statuses.set(advertId, status);
      changes.push(advertId);
    },
    remove(advertId: string): void {
      statuses.delete(advertId);
      changes.push(advertId);
    },
    /** Has the feed name something, whatever it is. */
    list(entry: unknown): void {
      changes.push(entry);
    },
  };
}

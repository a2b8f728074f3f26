/** The partner client over a transport that is played: client.ts makes its own, over sockets. */
import type { TokenEndpoint } from '../../functions/refresh-token/ports.ts';
import type { Clock } from '../../shared/domain/clock.ts';
import type { Secret } from '../../shared/domain/secret.ts';
import { pageIn, statusIn, tokensIn } from '../../shared/partner-api/answers.ts';
import { createCaller } from '../../shared/partner-api/call.ts';
import type { PartnerClient } from '../../shared/partner-api/client.ts';
import type { Gate } from '../../shared/partner-api/gate.ts';
import { createHeaders, feedPath, objectPath, paths, tokenBody } from '../../shared/partner-api/requests.ts';
import { httpTime } from '../../shared/partner-api/retry-after.ts';
import { getPolicy, tokenPolicy } from '../../shared/partner-api/retry-policy.ts';
import type { Transport } from '../../shared/partner-api/transport.ts';

export interface SimClientOptions {
  readonly transport: Transport;
  readonly gate: Gate;
  readonly clock: Clock;
  readonly random: () => number;
}

export type SimClient = Pick<PartnerClient, 'feedPage' | 'advert'> & TokenEndpoint;

export function createSimClient(options: SimClientOptions): SimClient {
  const call = createCaller({ ...options, concurrency: 10, attemptTimeoutMs: 3_000 });
  const headers = createHeaders('service', undefined);

  function get(token: Secret, path: string, query: string, account: string | undefined, deadlineMs: number) {
    const wire = { method: 'GET', path: path + query, headers: headers.of(token) } as const;
    return {
      wire,
      resource: `${account} ${path}`,
      what: `GET ${path}`,
      endpoint: 'api',
      secrets: [token],
      deadlineMs,
    } as const;
  }

  return {
    async feedPage(token, query, { deadlineMs, partnerAccount }) {
      const { path } = query.feed;
      const request = get(token, path, feedPath(query).slice(path.length), partnerAccount, deadlineMs);
      return call(request, getPolicy, (answer, { receivedAt }) => ({
        page: pageIn(answer, request.what),
        receivedAt,
        serviceTime: httpTime(answer.head.headers.date, receivedAt),
      }));
    },
    async advert(token, feed, id, { deadlineMs, partnerAccount }) {
      const request = get(token, objectPath(feed, id), '', partnerAccount, deadlineMs);
      return call(request, getPolicy, (answer, { receivedAt }) => ({
        status: statusIn(answer, id, request.what),
        receivedAt,
      }));
    },
    async requestTokens(application, grant, { deadlineMs }) {
      const body = tokenBody(application, grant);
      const wire = { method: 'POST', path: paths.token, headers: headers.withBody(body), body } as const;
      const what = `POST ${paths.token}`;
      const secrets = grant.type === 'refresh_token' ? [grant.refreshToken] : [];
      const request = { wire, resource: paths.token, what, endpoint: 'token', secrets, deadlineMs } as const;
      return call(request, tokenPolicy, (answer, { sentAt, receivedAt }) => ({
        answer: tokensIn(answer, what),
        sentAt,
        receivedAt,
        serviceTime: httpTime(answer.head.headers.date, receivedAt),
      }));
    },
  };
}

import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Secret } from '../../../../shared/domain/secret.ts';
import type { PartnerClient } from '../../../../shared/partner-api/client.ts';
import { clientVersion } from '../../../../shared/partner-api/requests.ts';
import {
  application,
  clientOf,
  createOpenRateLimiter,
  faultOf,
  feed,
  fetchWith,
  holdsOf,
  query,
  soon,
  token,
} from '../../../helpers/partner-api/fixtures.ts';
import { type ScriptedService, startScriptedService } from '../../../helpers/partner-api/scripted-service.ts';

let service: ScriptedService;
let client: PartnerClient;
beforeEach(async () => {
  service = await startScriptedService();
  client = clientOf(service.url);
});
afterEach(async () => {
  client.close();
  await service.close();
});

const page = { data: ['1', '2'], hasMore: false, nextCursor: 'n' };
const tokens = { access_token: 'new-access', expires_in: 86400, token_type: 'bearer', scope: 'v2' };
const refresh = {
  grant_type: 'refresh_token',
  refresh_token: new Secret('refresh-0123456789abcdef'),
} as const;

it('every request has the version, the token and what it accepts', async () => {
  await fetchWith(client, '7');

  expect(service.seen[0]?.headers).toEqual({
    host: `127.0.0.1:${service.port}`,
    accept: 'application/json',
    'accept-encoding': 'identity',
    version: '2.0',
    'user-agent': `advert-bridge/${clientVersion}`,
    authorization: `Bearer ${token.reveal()}`,
    connection: 'keep-alive',
  });
  expect(clientVersion).toBe(JSON.parse(readFileSync('package.json', 'utf8')).version);
});

it('every request has the language and begins with the base URL’s path', async () => {
  const polish = clientOf(`${service.url}/gateway/v2/`, { acceptLanguage: 'pl' });

  await fetchWith(polish, '7');

  expect(service.seen[0]).toMatchObject({
    url: '/gateway/v2/api/partner/adverts/7',
    headers: { 'accept-language': 'pl' },
  });
  polish.close();
});

it('every request waits for the rate limiter, and its answer is evaluated', async () => {
  const rateLimiter = createOpenRateLimiter();
  const holds = holdsOf();
  const answered = vi.spyOn(holds, 'answered');
  const gated = clientOf(service.url, { rateLimiter, holds });
  service.next({ body: { data: { id: 1, status: 'new' } } }, { status: 403 });

  await fetchWith(gated, '1');
  await faultOf(fetchWith(gated, '2'));

  expect(rateLimiter.entered).toEqual(['main /api/partner/adverts/1', 'main /api/partner/adverts/2']);
  expect(answered.mock.calls.map(([answer]) => answer)).toMatchObject([
    { account: 'main', fault: undefined },
    { account: 'main', fault: { code: 'forbidden' } },
  ]);
  gated.close();
});

it.each<[string, string, () => Promise<unknown>]>([
  [
    'a token that no header can carry',
    'malformed-state',
    () => fetchWith(client, '7', { token: new Secret('a\r\nX-Evil: 1') }),
  ],
  ...['', '..', '7/../8', '7?x', '123456789012345678901'].map(
    (id): [string, string, () => Promise<unknown>] => [
      `the ID "${id}"`,
      'invalid-request',
      () => fetchWith(client, id),
    ],
  ),
])('a request is not sent with %s', async (_what, code, send) => {
  expect((await faultOf(send())).code).toBe(code);
  expect(service.seen).toHaveLength(0);
});

it('a page is requested with since, cursor and limit byte for byte', async () => {
  service.next({ body: page }, { body: page });
  const fields = { since: '2026-11-20T12:00:00+01:00', cursor: 'a+b/c=&d %2B\u00e9"' };

  await client.readPage('main', { feed, ...fields, limit: 1000 }, { token, ...soon() });
  await client.readPage('main', query, { token, ...soon() });

  const url = new URL(service.seen[0]?.url ?? '', service.url);
  expect(url.search).not.toContain('+');
  expect(Object.fromEntries(url.searchParams)).toEqual({ ...fields, limit: '1000' });
  expect(service.seen[1]?.url).toBe('/api/partner/status/adverts?since=2026-11-20T12%3A00%3A00Z&limit=1000');
});

it('a page comes with the time of the service’s clock', async () => {
  const ms = Math.floor(Date.now() / 1000 - 2) * 1000;
  service.next({ body: { ...page, more: 1 }, headers: { date: new Date(ms).toUTCString() } });

  expect(await client.readPage('main', query, { token, ...soon() })).toMatchObject({
    page,
    serviceTime: ms,
  });
});

it('the list of adverts is read page by page with the right parameters', async () => {
  service.next({ body: { data: [{ id: 1 }] } });
  const names = { positionParameter: 'offset', limitParameter: 'count' };

  const list = await client.listAdverts('main', { position: 200, limit: 50, ...names }, { token, ...soon() });

  expect(list).toEqual({ data: ['1'] });
  expect(service.seen[0]?.url).toBe('/api/partner/adverts?offset=200&count=50');
});

it('token requests have the fields of each grant, no scope in a refresh', async () => {
  service.next({ body: tokens }, { body: tokens }, { body: tokens });
  const code = new Secret('one-time-code');
  const redirectUri = 'http://127.0.0.1:8765/callback';
  const odd = { ...application, clientSecret: new Secret('ż') };

  await client.requestTokens(odd, refresh, soon());
  const grant = { grant_type: 'authorization_code', code, scope: 'v2', redirect_uri: redirectUri } as const;
  await client.requestTokens(application, grant, soon());
  await client.requestTokens(application, { grant_type: 'client_credentials', scope: 'v2 write' }, soon());

  const credentials = { client_id: 'client-4711', client_secret: 'client-secret-98765' };
  expect(service.seen.map(({ body }) => JSON.parse(body))).toEqual([
    {
      ...{ grant_type: 'refresh_token', ...credentials, client_secret: 'ż' },
      refresh_token: 'refresh-0123456789abcdef',
    },
    {
      ...{ grant_type: 'authorization_code', ...credentials, scope: 'v2' },
      ...{ code: 'one-time-code', redirect_uri: redirectUri },
    },
    { grant_type: 'client_credentials', ...credentials, scope: 'v2 write' },
  ]);
  expect(service.seen[0]).toMatchObject({ method: 'POST', url: '/api/open/oauth/token' });
  expect(service.seen[0]?.headers).toMatchObject({ version: '2.0', 'content-type': 'application/json' });
  expect(service.seen[0]?.headers).not.toHaveProperty('authorization');
});

it('token requests do not repeat what an answer echoes of the secrets', async () => {
  const grant = { ...refresh, refresh_token: new Secret('only-letters') };
  const message = 'client-secret-98765 only-letters client-4711';
  service.next({ status: 400, body: { error: 'invalid_grant', error_description: message } });

  const fault = await faultOf(client.requestTokens(application, grant, soon()));

  expect(fault).toMatchObject({ code: 'grant-rejected', serviceCode: 'invalid_grant' });
  expect(fault.message).toMatch(/ \(\[redacted\] \[redacted\] \[redacted\]\)$/);
  service.next({ body: { data: { id: 7, status: token.reveal() } } });
  expect((await faultOf(fetchWith(client, '7'))).code).toBe('contract-broken');
});

it('authorizeUrl is the address of the authorization page', () => {
  const clientId = new Secret('client&1');
  const redirectUri = 'http://127.0.0.1:8765/callback';

  const url = client.authorizeUrl({ clientId, scope: 'v2 read', state: 's', redirectUri });

  expect(url).toBe(
    `${service.url}/oauth/authorize/?client_id=client%261&response_type=code&scope=v2%20read&state=s` +
      '&redirect_uri=http%3A%2F%2F127.0.0.1%3A8765%2Fcallback',
  );
});

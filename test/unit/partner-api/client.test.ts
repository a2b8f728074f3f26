import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Secret } from '../../../shared/domain/secret.ts';
import type { PartnerClient } from '../../../shared/partner-api/client.ts';
import { clientVersion } from '../../../shared/partner-api/requests.ts';
import {
  application,
  clientOf,
  createOpenRateLimiter,
  faultOf,
  feed,
  holdsOf,
  query,
  soon,
  token,
} from '../../helpers/partner-api/fixtures.ts';
import { type ScriptedService, startScriptedService } from '../../helpers/partner-api/scripted-service.ts';
import { createRecordingObserver } from '../../helpers/recording-observer.ts';

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
/** A `Date` header, and the moment that it names. */
const dateSecondsAgo = (seconds: number) => {
  const date = new Date(Date.now() - seconds * 1000).toUTCString();
  return { date, ms: Date.parse(date) };
};
const tokens = {
  access_token: 'new-access',
  expires_in: 86400,
  token_type: 'bearer',
  scope: 'v2 read write',
};

describe('every request', () => {
  it('carries the version, the token and what it accepts; a GET has no Content-Type', async () => {
    await client.advert(token, feed, '7', soon());

    const { headers } = service.seen[0] as (typeof service.seen)[0];
    expect(headers).toEqual({
      host: `127.0.0.1:${service.port}`,
      accept: 'application/json',
      'accept-encoding': 'identity',
      version: '2.0',
      'user-agent': `advert-bridge/${clientVersion}`,
      authorization: `Bearer ${token.reveal()}`,
      connection: 'keep-alive',
    });
  });

  it('carries the language when one is configured', async () => {
    const polish = clientOf(service.url, { acceptLanguage: 'pl' });

    await polish.advert(token, feed, '7', soon());

    expect(service.seen[0]?.headers['accept-language']).toBe('pl');
    polish.close();
  });

  it('names the version of the package', () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8'));

    expect(clientVersion).toBe(version);
  });

  it('keeps the path of the base URL', async () => {
    for (const path of ['/gateway/v2/', '/gateway/v2']) {
      const behind = clientOf(service.url + path);

      await behind.advert(token, feed, '7', soon());

      expect(service.seen.at(-1)?.url).toBe('/gateway/v2/api/partner/adverts/7');
      behind.close();
    }
  });

  it('goes through the rate limiter, and its answer is evaluated', async () => {
    const rateLimiter = createOpenRateLimiter();
    const holds = holdsOf();
    const answered = vi.spyOn(holds, 'answered');
    const gated = clientOf(service.url, { rateLimiter, holds });
    service.next({ body: { data: { id: 1, status: 'new' } } }, { status: 403 });

    await gated.advert(token, feed, '1', { ...soon(), partnerAccount: 'main' });
    await faultOf(gated.advert(token, feed, '2', soon()));

    expect(rateLimiter.entered).toEqual(['main /api/partner/adverts/1', '/api/partner/adverts/2']);
    expect(answered.mock.calls.map(([answer]) => answer)).toMatchObject([
      { account: 'main', fault: undefined },
      { account: undefined, fault: { code: 'forbidden' } },
    ]);
    gated.close();
  });

  it('is refused for a base URL without TLS that is not loopback', () => {
    expect(() => clientOf('http://partner.example')).toThrow(/https/);
  });

  it('is not sent with a token that no header can carry', async () => {
    const fault = await faultOf(client.advert(new Secret('a\r\nX-Evil: 1'), feed, '7', soon()));

    expect(fault.code).toBe('malformed-state');
    expect(service.seen).toHaveLength(0);
  });
});

describe('feedPage', () => {
  it('sends since, cursor and limit, each byte for byte', async () => {
    service.next({ body: page });
    const cursor = 'a+b/c=&d %2B\u00e9"';

    await client.feedPage(token, { feed, since: '2026-11-20T12:00:00+01:00', cursor, limit: 1000 }, soon());

    const url = new URL(service.seen[0]?.url ?? '', service.url);
    expect(url.pathname).toBe('/api/partner/status/adverts');
    expect(url.search).not.toContain('+');
    expect(Object.fromEntries(url.searchParams)).toEqual({
      since: '2026-11-20T12:00:00+01:00',
      cursor,
      limit: '1000',
    });
  });

  it.each([{ since: 'x\ud800' }, { cursor: 'x\ud800' }])(
    'is not sent with %j, which no URL can carry',
    async (odd) => {
      expect((await faultOf(client.feedPage(token, { ...query, ...odd }, soon()))).code).toBe(
        'malformed-state',
      );
      expect(service.seen).toHaveLength(0);
    },
  );

  it('sends no cursor when reading starts', async () => {
    service.next({ body: page });

    await client.feedPage(token, query, soon());

    expect(service.seen[0]?.url).toBe(
      '/api/partner/status/adverts?since=2026-11-20T12%3A00%3A00Z&limit=1000',
    );
  });

  it.each([
    ['a page longer than the limit', { ...page, data: Array(1001).fill('1') }, '1000 entries asked for'],
    ['a cursor over 4 KB', { ...page, nextCursor: 'c'.repeat(4097) }, 'nextCursor: expected at most 4096'],
    ['a cursor over 4 KB in UTF-8', { ...page, nextCursor: '\u017c'.repeat(2049) }, 'at most 4096 bytes'],
  ])('refuses %s, and does not show it', async (_what, body, message) => {
    service.next({ body });

    const fault = await faultOf(client.feedPage(token, query, soon()));

    expect(fault).toMatchObject({ code: 'contract-broken', message: expect.stringContaining(message) });
    expect(fault.message.length).toBeLessThan(200);
  });

  it('takes a page of the limit and a cursor of 4 KB', async () => {
    const full = { ...page, data: Array(1000).fill('1'), nextCursor: 'c'.repeat(4096) };
    service.next({ body: full });

    expect((await client.feedPage(token, query, soon())).page).toEqual(full);
  });

  it("gives the page, and the time by the service's clock", async () => {
    const { date, ms } = dateSecondsAgo(2);
    service.next({ body: { ...page, more: 1 }, headers: { date } });

    const received = await client.feedPage(token, query, soon());

    expect(received.page).toEqual(page);
    expect(received.serviceTime).toBe(ms);
  });

  it('gives its own time where the service says one that it cannot be, and says so once', async () => {
    const observer = createRecordingObserver();
    const watched = clientOf(service.url, { observer });
    const headers = { date: 'Fri, 31 Dec 9999 23:59:59 GMT' };
    service.next({ body: page, headers }, { body: page, headers }, { body: tokens, headers });

    const received = [
      await watched.feedPage(token, query, soon()),
      await watched.feedPage(token, query, soon()),
      await watched.requestTokens(application, { type: 'refresh_token', refreshToken: token }, soon()),
    ];

    for (const { serviceTime, receivedAt } of received) expect(serviceTime).toBe(receivedAt);
    expect(observer.lines.map(({ level }) => level)).toEqual(['warn']);
    watched.close();
  });

  it('gives its own time where the service names none', async () => {
    service.next((_request, response) => {
      response.sendDate = false;
      response.end(JSON.stringify(page));
    });

    const received = await client.feedPage(token, query, soon());

    expect(received.serviceTime).toBe(received.receivedAt);
  });

  it.each([
    [{ data: ['1'], hasMore: 'no', nextCursor: 'n' }, 'hasMore'],
    [{ data: ['1'], hasMore: true }, 'nextCursor'],
    [{ data: ['1'], hasMore: true, nextCursor: '' }, 'nextCursor'],
    [{ data: ['1'], hasMore: true, nextCursor: 'x\ud800' }, 'nextCursor'],
    [{ data: 'secret', hasMore: true, nextCursor: 'n' }, 'data'],
  ])('is contract-broken for %j, and names the place alone', async (body, place) => {
    service.next({ body });

    const fault = await faultOf(client.feedPage(token, query, soon()));

    expect(fault).toMatchObject({ code: 'contract-broken', status: 200 });
    expect(fault.message).toContain(place);
    expect(fault.message).not.toContain('secret');
    expect(service.seen).toHaveLength(1);
  });

  it('is contract-broken for a page beyond the size limit', async () => {
    service.next({ body: { ...page, padding: 'x'.repeat(1_048_576) } });

    expect((await faultOf(client.feedPage(token, query, soon()))).code).toBe('contract-broken');
  });
});

describe('advert', () => {
  const id = '9007199254740993';

  it('gives the status, whatever it is', async () => {
    service.next({ body: { data: { id: 7, status: 'removed_by_moderator', price: null } } });

    expect(await client.advert(token, feed, '7', soon())).toMatchObject({ status: 'removed_by_moderator' });
  });

  it('takes an ID as a number or as text', async () => {
    service.next({ body: { data: { id: '7', status: 'new' } } });

    expect((await client.advert(token, feed, '7', soon())).status).toBe('new');
  });

  it('tells IDs beyond 2^53 from their neighbours', async () => {
    const other = '{"data":{"category":{"id":9007199254740993},"id":9007199254740992,"status":"new"}}';
    service.next({ body: `{"data":{"id":${id},"status":"new"}}` }, { body: other });

    expect((await client.advert(token, feed, id, soon())).status).toBe('new');
    expect((await faultOf(client.advert(token, feed, id, soon()))).code).toBe('contract-broken');
  });

  it.each([
    { data: { id: 8, status: 'new' } },
    { data: { id: '07', status: 'new' } },
    { data: { id: 7.5, status: 'new' } },
    { data: { id: 7 } },
    { data: { id: 7, status: '' } },
    { data: { id: 7, status: 3 } },
    { data: { id: 7, status: 'x'.repeat(257) } },
    { id: 7, status: 'new' },
    [],
    null,
  ])('is contract-broken for %j', async (body) => {
    service.next({ body });

    expect((await faultOf(client.advert(token, feed, '7', soon()))).code).toBe('contract-broken');
  });

  it.each(['', '..', '7/../8', '7?x', 'abc', '123456789012345678901'])(
    'is not sent for the ID %j',
    async (odd) => {
      expect((await faultOf(client.advert(token, feed, odd, soon()))).code).toBe('invalid-request');
      expect(service.seen).toHaveLength(0);
    },
  );

  it('does not follow a redirect', async () => {
    service.next({ status: 302, headers: { location: `${service.url}/elsewhere` } });

    expect((await faultOf(client.advert(token, feed, '7', soon()))).code).toBe('wrong-path');
    expect(service.seen).toHaveLength(1);
  });

  it('does not repeat what an answer echoes of the token', async () => {
    service.next({
      status: 400,
      body: { code: 'validation_error', message: `Bearer ${token.reveal()} is odd` },
    });

    const fault = await faultOf(client.advert(token, feed, '7', soon()));

    expect(fault.message).toContain('[redacted]');
    expect(fault.message).not.toContain(token.reveal());
  });
});

describe('the other endpoints', () => {
  it('list adverts page by page', async () => {
    // Written by hand: beyond 2^53 neighbouring numbers are the same in here.
    service.next({ body: '{"data":[{"id":1},{"id":90071992547409931},{"id":"3"},{"name":"no ID"},null]}' });

    expect(await client.adverts(token, { position: 2, limit: 100 }, soon())).toEqual({
      data: ['1', '90071992547409931', '3', { name: 'no ID' }, null],
    });
    expect(service.seen[0]?.url).toBe('/api/partner/adverts?page=2&limit=100');
  });

  it('list adverts by an offset, where the service has them so', async () => {
    service.next({ body: { data: [] } });

    const query = { position: 200, limit: 50, positionParameter: 'offset', limitParameter: 'count' };
    await client.adverts(token, query, soon());

    expect(service.seen[0]?.url).toBe('/api/partner/adverts?offset=200&count=50');
  });
});

describe('requestTokens', () => {
  const refresh = { type: 'refresh_token', refreshToken: new Secret('refresh-0123456789abcdef') } as const;

  it('sends the fields of each grant as JSON, the scope not with a refresh', async () => {
    service.next({ body: tokens }, { body: tokens }, { body: tokens });
    const code = new Secret('one-time-code');
    const redirectUri = 'http://127.0.0.1:8765/callback';

    await client.requestTokens(application, refresh, soon());
    await client.requestTokens(
      application,
      { type: 'authorization_code', code, scope: 'v2', redirectUri },
      soon(),
    );
    await client.requestTokens(application, { type: 'client_credentials', scope: 'v2 write' }, soon());

    const credentials = { client_id: 'client-4711', client_secret: 'client-secret-98765' };
    expect(service.seen.map(({ body }) => JSON.parse(body))).toEqual([
      { grant_type: 'refresh_token', ...credentials, refresh_token: 'refresh-0123456789abcdef' },
      {
        grant_type: 'authorization_code',
        ...credentials,
        scope: 'v2',
        code: 'one-time-code',
        redirect_uri: redirectUri,
      },
      { grant_type: 'client_credentials', ...credentials, scope: 'v2 write' },
    ]);
    expect(service.seen[0]).toMatchObject({ method: 'POST', url: '/api/open/oauth/token' });
    expect(service.seen[0]?.headers).toMatchObject({ version: '2.0', 'content-type': 'application/json' });
    expect(service.seen[0]?.headers).not.toHaveProperty('authorization');
  });

  it('tells the length in bytes, whatever characters a secret has', async () => {
    service.next({ body: tokens });
    await client.requestTokens({ ...application, clientSecret: new Secret('ż') }, refresh, soon());

    const { headers, body = '' } = service.seen[0] ?? { headers: {} };
    expect(Number(headers['content-length'])).toBe(Buffer.byteLength(body));
    expect(body).toContain('"client_secret":"ż"');
  });

  it('gives the answer and when it came', async () => {
    const { date, ms } = dateSecondsAgo(2);
    service.next({ body: tokens, headers: { date } });

    const received = await client.requestTokens(application, refresh, soon());

    expect(received.answer).toEqual(tokens);
    expect(received.sentAt).toBeLessThanOrEqual(received.receivedAt);
    expect(received.serviceTime).toBe(ms);
  });

  it('does not repeat what an answer echoes of the secrets', async () => {
    const message = 'client-secret-98765 refresh-0123456789abcdef client-4711';
    service.next({ status: 400, body: { error: 'invalid_grant', error_description: message } });

    const fault = await faultOf(client.requestTokens(application, refresh, soon()));

    expect(fault).toMatchObject({ code: 'grant-rejected', serviceCode: 'invalid_grant' });
    expect(fault.message).toMatch(/: \[redacted\] \[redacted\] \[redacted\]$/);
  });

  it('names the place alone when the answer has another shape', async () => {
    service.next({ body: { ...tokens, access_token: 'not precious', refresh_token: ['precious'] } });

    const fault = await faultOf(client.requestTokens(application, refresh, soon()));

    expect(fault.code).toBe('contract-broken');
    expect(fault.message).toContain('access_token');
    expect(JSON.stringify([fault.message, String(fault.cause)])).not.toContain('precious');
  });

  it('gives a refresh token whose access token makes no sense, for it is the newest', async () => {
    service.next({ body: { ...tokens, access_token: 17, refresh_token: 'with a space' } });

    const { answer } = await client.requestTokens(application, refresh, soon());

    expect(answer).toMatchObject({ access_token: undefined, refresh_token: 'with a space' });
  });

  it('keeps an answer that is no JSON out of the fault', async () => {
    service.next({ body: '{"access_token":"precious"' });

    const fault = await faultOf(client.requestTokens(application, refresh, soon()));

    expect(fault.code).toBe('transient');
    expect(fault.cause).toBeUndefined();
    expect(fault.message).not.toContain('precious');
  });
});

describe('authorizeUrl', () => {
  it('sends the browser to the authorization page', () => {
    const clientId = new Secret('client&1');
    const redirectUri = 'http://127.0.0.1:8765/callback';

    const url = new URL(client.authorizeUrl({ clientId, scope: 'v2 read', state: 's', redirectUri }));

    expect(url.pathname).toBe('/oauth/authorize/');
    expect(Object.fromEntries(url.searchParams)).toEqual({
      client_id: 'client&1',
      response_type: 'code',
      scope: 'v2 read',
      state: 's',
      redirect_uri: redirectUri,
    });
  });

  it('leaves the redirect_uri out where none is needed', () => {
    const url = client.authorizeUrl({ clientId: new Secret('c'), scope: 'v2', state: 's' });

    expect(url).toBe(`${service.url}/oauth/authorize/?client_id=c&response_type=code&scope=v2&state=s`);
  });
});

import { describe, expect, it } from 'vitest';
import { dayMs, hourMs, longAgo, noonMs, start } from './start.ts';

const first = 'sandbox-refresh-token-main';

describe('the refresh_token grant', () => {
  it('answers as documented', async () => {
    const { refresh } = await start();

    const { status, body } = await refresh();

    expect(status).toBe(200);
    expect(body).toEqual({
      access_token: expect.stringMatching(/^\w{40}$/),
      expires_in: 86_400,
      token_type: 'bearer',
      scope: 'v2 read write',
      refresh_token: first,
    });
  });

  it('returns the same access token until it expires, then a new one', async () => {
    const { sandbox, refresh } = await start({ accessTokenLifetimeSeconds: 3600 });
    const before = await refresh();
    sandbox.control.clock.advance(hourMs - 1000);
    const again = await refresh();
    sandbox.control.clock.advance(1000);
    const after = await refresh();

    expect(again.body).toEqual({ ...before.body, expires_in: 1 });
    expect(after.body.access_token).not.toBe(before.body.access_token);
    expect(after.body.expires_in).toBe(3600);
  });

  it('returns a new refresh token on a new day, and the same for the rest of that day', async () => {
    const { sandbox, refresh } = await start();
    sandbox.control.clock.advance(12 * hourMs);
    const nextDay = (await refresh()).body.refresh_token;

    expect(nextDay).not.toBe(first);
    expect((await refresh(nextDay)).body.refresh_token).toBe(nextDay);
  });

  it('returns the current pair for a refresh token superseded that day', async () => {
    const { sandbox, refresh } = await start();
    sandbox.control.clock.advance(dayMs);
    const rotated = (await refresh()).body;

    expect((await refresh()).body).toEqual(rotated);
  });

  it.each([
    [0, 200],
    [1, 400],
  ] as const)('answers a token superseded %i days ago with %i', async (days, status) => {
    const { sandbox, refresh } = await start();
    sandbox.control.clock.advance(dayMs);
    await refresh();
    sandbox.control.clock.advance(days * dayMs);

    expect((await refresh()).status).toBe(status);
  });

  it('fails once a refresh token has not been used for thirty days', async () => {
    const { sandbox, refresh } = await start();
    sandbox.control.clock.advance(30 * dayMs - 1);
    const inTime = await refresh();
    sandbox.control.clock.advance(30 * dayMs - 1);
    const again = await refresh(inTime.body.refresh_token);
    sandbox.control.clock.advance(30 * dayMs);
    const late = await refresh(again.body.refresh_token);

    expect([inTime.status, again.status, late.body.error]).toEqual([200, 200, 'invalid_grant']);
  });

  it('fails after a revocation, and so does the access token', async () => {
    const { sandbox, refresh, get, bearer } = await start();
    const headers = await bearer();

    expect(sandbox.control.revoke('main')).toBe(2);
    expect((await refresh()).body.error).toBe('invalid_grant');
    expect((await get('/api/partner/threads', headers)).status).toBe(401);
  });
});

describe('the authorization_code grant', () => {
  const grant_type = 'authorization_code';

  it('takes a code once', async () => {
    const { sandbox, token } = await start();
    const code = sandbox.control.issueCode();

    const once = await token({ grant_type, code, scope: 'v2 read write' });
    const twice = await token({ grant_type, code, scope: 'v2 read write' });

    expect(once.body.scope).toBe('v2 read write');
    expect([twice.status, twice.body.error]).toEqual([400, 'invalid_grant']);
  });

  type Issued = { readonly redirectUri?: string; readonly scope?: string; readonly ageMs?: number };
  const redirectUri = 'http://127.0.0.1:8765/callback?from=here';
  it.each([
    ['the same redirect_uri', { redirectUri }, { redirect_uri: redirectUri }, undefined],
    ['no redirect_uri', { redirectUri }, {}, 'invalid_request'],
    ['another redirect_uri', { redirectUri }, { redirect_uri: redirectUri.slice(0, -1) }, 'invalid_grant'],
    ['more scope', { scope: 'v2 read' }, { scope: 'v2 read write' }, 'invalid_scope'],
    ['a late code', { ageMs: 600_000 }, {}, 'invalid_grant'],
  ])('answers an exchange with %s', async (_, issued: Issued, fields, error) => {
    const { sandbox, token } = await start();
    const code = sandbox.control.issueCode(issued);
    sandbox.control.clock.advance(issued.ageMs ?? 0);

    expect((await token({ grant_type, code, ...fields })).body.error).toBe(error);
  });

  it('keeps a code whose exchange named a scope that does not exist', async () => {
    const { sandbox, token } = await start();
    const code = sandbox.control.issueCode();
    await token({ grant_type, code, scope: 'v2 admin' });

    expect((await token({ grant_type, code })).status).toBe(200);
  });
});

describe('the client_credentials grant', () => {
  it('gives a client token, which can be refreshed but cannot add adverts', async () => {
    const { token, post, refresh } = await start();
    const { body } = await token({ grant_type: 'client_credentials', scope: 'v2 write' });
    const headers = { authorization: `Bearer ${body.access_token}`, version: '2.0' };

    expect(body.scope).toBe('v2 write');
    expect((await post('/api/partner/adverts', { title: 'Bicycle' }, headers)).status).toBe(403);
    expect((await refresh(body.refresh_token)).body.access_token).toBe(body.access_token);
  });

  it('rejects a scope beyond the allowed one', async () => {
    const { body } = await (await start()).token({ grant_type: 'client_credentials', scope: 'v2 admin' });

    expect(body.error).toBe('invalid_scope');
  });
});

describe('the token endpoint', () => {
  it.each([
    ['a wrong secret', { client_secret: 'wrong' }, 401, 'invalid_client'],
    ['an unknown client', { client_id: 'wrong' }, 401, 'invalid_client'],
    ['no secret', { client_secret: undefined }, 400, 'invalid_request'],
    ['no grant type', { grant_type: undefined }, 400, 'invalid_request'],
    ['an unknown grant type', { grant_type: 'password' }, 400, 'unsupported_grant_type'],
    ['no refresh token', { refresh_token: '' }, 400, 'invalid_request'],
    ['an unknown refresh token', { refresh_token: 'wrong' }, 400, 'invalid_grant'],
  ])('rejects %s', async (_, fields, status, error) => {
    const { token } = await start();

    const answer = await token({ grant_type: 'refresh_token', refresh_token: first, ...fields });

    expect(answer.status).toBe(status);
    expect(answer.body).toEqual({ error, error_description: expect.any(String) });
  });

  it.each([
    ['a form', 'grant_type=refresh_token', { 'content-type': 'application/x-www-form-urlencoded' }],
    ['broken JSON', '{"grant_type":', {}],
  ])('rejects %s', async (_, text, headers) => {
    const { body } = await (await start()).post('/api/open/oauth/token', text, headers);

    expect(body.error).toBe('invalid_request');
  });
});

describe('an access token', () => {
  it('gives access to the adverts of its own user only', async () => {
    const { sandbox, bearer, get } = await start({ users: [{ name: 'main' }, { name: 'other' }] });
    sandbox.control.setStatus('1001', 'active');
    sandbox.control.setStatus('1021', 'active');
    const headers = await bearer('other');

    const feed = await get(`/api/partner/status/adverts?since=${longAgo}`, headers);

    expect(feed.body.data).toEqual(['1021']);
    expect((await get('/api/partner/adverts/1001', headers)).status).toBe(404);
  });

  it('expires with the clock, or on demand', async () => {
    const { sandbox, bearer, get } = await start();
    const statusOf = async (headers: Record<string, string>) =>
      (await get('/api/partner/threads', headers)).status;
    const headers = await bearer();
    const valid = await statusOf(headers);
    sandbox.control.clock.set(noonMs + dayMs);
    const old = await statusOf(headers);
    const later = await bearer();
    const expired = sandbox.control.expireAccessTokens('main');

    expect([valid, old, expired, await statusOf(later)]).toEqual([200, 401, 1, 401]);
  });
});

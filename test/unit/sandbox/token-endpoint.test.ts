import { describe, expect, it } from 'vitest';
import { dayMs, hourMs, longAgo, noonMs, start } from './start.ts';

describe('the refresh_token grant', () => {
  it('answers with the token response of the document', async () => {
    const { refresh } = await start();

    const { status, body } = await refresh();

    expect(status).toBe(200);
    expect(body).toEqual({
      access_token: expect.stringMatching(/^\w{40}$/),
      expires_in: 86_400,
      token_type: 'bearer',
      scope: 'v2 read write',
      refresh_token: 'sandbox-refresh-token-main',
    });
  });

  it('returns the same access token with the remaining lifetime until it expires, then a new one', async () => {
    const { sandbox, refresh } = await start({ accessTokenLifetimeSeconds: 3600 });
    const first = await refresh();
    sandbox.control.clock.advance(hourMs - 1000);
    const again = await refresh();
    sandbox.control.clock.advance(1000);

    const afterwards = await refresh();

    expect(again.body).toEqual({ ...first.body, expires_in: 1 });
    expect(afterwards.body.access_token).not.toBe(first.body.access_token);
    expect(afterwards.body.expires_in).toBe(3600);
  });

  it('issues a new refresh token on a new day and returns it for the rest of that day', async () => {
    const { sandbox, refresh } = await start();
    const first = await refresh();
    sandbox.control.clock.advance(12 * hourMs);
    const nextDay = await refresh(first.body.refresh_token);

    const again = await refresh(nextDay.body.refresh_token);

    expect(nextDay.body.refresh_token).not.toBe(first.body.refresh_token);
    expect(again.body.refresh_token).toBe(nextDay.body.refresh_token);
  });

  it('takes a superseded refresh token on the day of the rotation, and not on the next', async () => {
    const { sandbox, refresh } = await start();
    sandbox.control.clock.advance(dayMs);
    const rotated = await refresh();

    const sameDay = await refresh();
    sandbox.control.clock.advance(dayMs);
    const nextDay = await refresh();

    expect(sameDay.body.refresh_token).toBe(rotated.body.refresh_token);
    expect(sameDay.body.access_token).toBe(rotated.body.access_token);
    expect(nextDay.status).toBe(400);
    expect(nextDay.body.error).toBe('invalid_grant');
  });

  it.each([
    ['never', 0, 400],
    ['always', 10, 200],
  ] as const)('takes a superseded refresh token %s where that is assumed', async (rule, days, status) => {
    const { sandbox, refresh } = await start({ assumptions: { supersededRefreshToken: rule } });
    sandbox.control.clock.advance(dayMs);
    await refresh();
    sandbox.control.clock.advance(days * dayMs);

    expect((await refresh()).status).toBe(status);
  });

  it('can count days by 24 hours instead of the calendar', async () => {
    const { sandbox, refresh } = await start({ assumptions: { refreshTokenDay: 'rolling' } });
    sandbox.control.clock.advance(dayMs - 1);
    const early = await refresh();
    sandbox.control.clock.advance(1);
    const late = await refresh();

    expect(early.body.refresh_token).toBe('sandbox-refresh-token-main');
    expect(late.body.refresh_token).not.toBe('sandbox-refresh-token-main');
  });

  it('lets a refresh token die that was not used for thirty days', async () => {
    const { sandbox, refresh } = await start();
    sandbox.control.clock.advance(30 * dayMs - 1);
    const inTime = await refresh();
    sandbox.control.clock.advance(30 * dayMs);

    const tooLate = await refresh(inTime.body.refresh_token);

    expect(inTime.status).toBe(200);
    expect(tooLate.body.error).toBe('invalid_grant');
  });

  it('lets every use of a refresh token count for another thirty days', async () => {
    const { sandbox, refresh } = await start();
    let { refresh_token } = (await refresh()).body;
    for (let month = 0; month < 3; month += 1) {
      sandbox.control.clock.advance(29 * dayMs);
      ({ refresh_token } = (await refresh(refresh_token)).body);
    }

    expect(refresh_token).toMatch(/^\w{40}$/);
  });

  it('ends with a revocation, together with the access token', async () => {
    const { sandbox, refresh, get } = await start();
    const { access_token } = (await refresh()).body;
    sandbox.control.revoke('main');

    const refused = await refresh();
    const request = await get('/api/partner/threads', {
      authorization: `Bearer ${access_token}`,
      version: '2.0',
    });

    expect(refused.body.error).toBe('invalid_grant');
    expect(request.status).toBe(401);
  });

  it('can answer with a numeric string and leave out what has not changed', async () => {
    const { refresh } = await start({
      assumptions: { expiresInAsString: true, refreshOmits: ['refresh_token', 'scope'] },
    });

    const { body } = await refresh();

    expect(Object.keys(body)).toEqual(['access_token', 'expires_in', 'token_type']);
    expect(body.expires_in).toBe('86400');
  });
});

describe('the authorization_code grant', () => {
  it('takes a code once', async () => {
    const { sandbox, token } = await start();
    const code = sandbox.control.issueCode();

    const first = await token({ grant_type: 'authorization_code', code, scope: 'v2 read write' });
    const second = await token({ grant_type: 'authorization_code', code, scope: 'v2 read write' });

    expect(first.body.scope).toBe('v2 read write');
    expect(second.status).toBe(400);
    expect(second.body.error).toBe('invalid_grant');
  });

  it('wants the redirect_uri of the authorization again', async () => {
    const { sandbox, token } = await start();
    const redirectUri = 'http://127.0.0.1:8765/callback?from=here';
    const codes = [1, 2, 3].map(() => sandbox.control.issueCode({ redirectUri }));
    const grant_type = 'authorization_code';

    const without = await token({ grant_type, code: codes[0] });
    const other = await token({ grant_type, code: codes[1], redirect_uri: 'http://127.0.0.1:8765/callback' });
    const same = await token({ grant_type, code: codes[2], redirect_uri: redirectUri });

    expect(without.body.error).toBe('invalid_request');
    expect(other.body.error).toBe('invalid_grant');
    expect(same.status).toBe(200);
  });

  it('lets a code run out', async () => {
    const { sandbox, token } = await start();
    const code = sandbox.control.issueCode();
    sandbox.control.clock.advance(600_000);

    expect((await token({ grant_type: 'authorization_code', code })).body.error).toBe('invalid_grant');
  });

  it('gives no more scope than was authorized', async () => {
    const { sandbox, token } = await start();
    const code = sandbox.control.issueCode({ scope: 'v2 read' });

    const { status, body } = await token({ grant_type: 'authorization_code', code, scope: 'v2 read write' });

    expect(status).toBe(400);
    expect(body.error).toBe('invalid_scope');
  });
});

describe('the client_credentials grant', () => {
  it('gives a client token that cannot add adverts', async () => {
    const { token, post } = await start();
    const { body } = await token({ grant_type: 'client_credentials', scope: 'v2 write' });
    const headers = { authorization: `Bearer ${body.access_token}`, version: '2.0' };

    const { status } = await post('/api/partner/adverts', { title: 'Bicycle' }, headers);

    expect(body.scope).toBe('v2 write');
    expect(status).toBe(403);
  });

  it('can be refreshed', async () => {
    const { token, refresh } = await start();
    const { body } = await token({ grant_type: 'client_credentials' });

    expect((await refresh(body.refresh_token)).body.access_token).toBe(body.access_token);
  });

  it('refuses a scope beyond the allowed one', async () => {
    const { token } = await start();

    expect((await token({ grant_type: 'client_credentials', scope: 'v2 admin' })).body.error).toBe(
      'invalid_scope',
    );
  });
});

describe('the token endpoint', () => {
  it.each([
    ['a wrong secret', { client_secret: 'wrong' }, 401, 'invalid_client'],
    ['an unknown client', { client_id: 'wrong' }, 401, 'invalid_client'],
    ['no secret', { client_secret: undefined }, 400, 'invalid_request'],
    ['no grant type', { grant_type: undefined }, 400, 'invalid_request'],
    ['an unknown grant type', { grant_type: 'password' }, 400, 'unsupported_grant_type'],
    ['no refresh token', { refresh_token: undefined }, 400, 'invalid_request'],
    ['an unknown refresh token', { refresh_token: 'wrong' }, 400, 'invalid_grant'],
  ])('refuses %s', async (_, fields, status, error) => {
    const { token } = await start();

    const answer = await token({
      grant_type: 'refresh_token',
      refresh_token: 'sandbox-refresh-token-main',
      ...fields,
    });

    expect(answer.status).toBe(status);
    expect(answer.body).toEqual({ error, error_description: expect.any(String) });
  });

  it('takes JSON alone', async () => {
    const { post } = await start();

    const form = await post('/api/open/oauth/token', 'grant_type=refresh_token', {
      'content-type': 'application/x-www-form-urlencoded',
    });
    const broken = await post('/api/open/oauth/token', '{"grant_type":');

    expect(form.body.error).toBe('invalid_request');
    expect(broken.body.error).toBe('invalid_request');
  });

  it('answers in another error shape and asks for Version where that is assumed', async () => {
    const { refresh } = await start({
      assumptions: { tokenEndpointNeedsVersion: true, errorShapes: { validation: 'typed' } },
    });

    const { status, body } = await refresh();

    expect(status).toBe(400);
    expect(body).toEqual({
      error: { type: 'validation_error', message: expect.stringContaining('Version') },
    });
  });

  it('repeats every token for the same seed', async () => {
    const one = await start();
    const other = await start();

    expect((await one.refresh()).body).toEqual((await other.refresh()).body);
  });
});

describe('an access token', () => {
  it('opens the account it was issued for and no other', async () => {
    const { sandbox, bearer, get } = await start({ users: [{ name: 'main' }, { name: 'other' }] });
    sandbox.control.setStatus('1001', 'active');
    sandbox.control.setStatus('1021', 'active');

    const headers = await bearer('other');
    const feed = await get(`/api/partner/status/adverts?since=${longAgo}`, headers);
    const foreign = await get('/api/partner/adverts/1001', headers);

    expect(feed.body.data).toEqual(['1021']);
    expect(foreign.status).toBe(404);
  });

  it('runs out with the clock, or when told to', async () => {
    const { sandbox, bearer, get } = await start();
    const headers = await bearer();
    const good = await get('/api/partner/threads', headers);
    sandbox.control.clock.set(noonMs + dayMs);
    const out = await get('/api/partner/threads', headers);
    const later = await bearer();
    const expired = sandbox.control.expireAccessTokens('main');

    const told = await get('/api/partner/threads', later);

    expect([good.status, out.status, told.status]).toEqual([200, 401, 401]);
    expect(expired).toBe(1);
  });
});

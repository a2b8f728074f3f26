import { expect, it } from 'vitest';
import { hourMs, longAgo, start } from './start.ts';

const first = 'sandbox-refresh-token-main';

it('a refresh is answered as documented', async () => {
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

// Each use: which refresh token is sent, and when, in hours after noon. Each answer: a letter for its access token, a
// number for its refresh token; 1 is the first.
it.each([
  ['the same access token until it expires', 'first@0 first@1 first@2', 'a1 a1 b1'],
  ['a new refresh token on a new day', 'first@12 latest@13 latest@36', 'a2 a2 b3'],
  ['the pair for a token superseded that day', 'first@24 first@24.5 first@48', 'a2 a2 invalid_grant'],
  ['nothing after thirty days', 'first@719 latest@1438 latest@2158', 'a2 b3 invalid_grant'],
])('gives %s', async (_, uses, expected) => {
  const { control, refresh } = await start({ accessTokenLifetimeSeconds: 7200 });
  const noon = control.clock.now();
  const accessTokens = new Set<string>();
  const refreshTokens = new Set([first]);
  const seen: string[] = [];
  for (const [which, atHours] of uses.split(' ').map((use) => use.split('@'))) {
    control.clock.set(noon + Number(atHours) * hourMs);
    const { body } = await refresh(which === 'first' ? first : [...refreshTokens].at(-1));
    if (!body.error) {
      accessTokens.add(body.access_token);
      refreshTokens.add(body.refresh_token);
    }
    const letter = 'abc'[[...accessTokens].indexOf(body.access_token)];
    seen.push(body.error ?? `${letter}${[...refreshTokens].indexOf(body.refresh_token) + 1}`);
  }
  expect(seen.join(' ')).toBe(expected);
});

it('each refresh gives one new refresh token where that is assumed', async () => {
  const { refresh } = await start({ assumptions: { onlyNewestRefreshToken: true } });

  const second = (await refresh()).body.refresh_token;

  expect(second).not.toBe(first);
  expect((await refresh()).body.error).toBe('invalid_grant');
  expect((await refresh(second)).status).toBe(200);
});

it('a refresh and the access token fail after a revocation', async () => {
  const { control, refresh, get, bearer } = await start();
  const headers = await bearer();

  expect(control.revoke('main')).toBe(2);
  expect((await refresh()).body.error).toBe('invalid_grant');
  expect((await get('/api/partner/threads', headers)).status).toBe(401);
});

const grant_type = 'authorization_code';

type Issued = { readonly redirectUri?: string; readonly scope?: string; readonly ageMs?: number };
const redirectUri = 'http://127.0.0.1:8765/callback?from=here';
it.each([
  ['the same redirect_uri', { redirectUri }, { redirect_uri: redirectUri }, undefined],
  ['no redirect_uri', { redirectUri }, {}, 'invalid_request'],
  ['another redirect_uri', { redirectUri }, { redirect_uri: redirectUri.slice(0, -1) }, 'invalid_grant'],
  ['more scope', { scope: 'v2 read' }, { scope: 'v2 read write' }, 'invalid_scope'],
  ['a late code', { ageMs: 600_000 }, {}, 'invalid_grant'],
])('answers an exchange with %s', async (_, issued: Issued, fields, error) => {
  const { control, token } = await start();
  const code = control.issueCode(issued);
  control.clock.advance(issued.ageMs ?? 0);

  expect((await token({ grant_type, code, ...fields })).body.error).toBe(error);
});

it('a code works once, and an unknown scope does not use it up', async () => {
  const { control, token } = await start();
  const code = control.issueCode();

  const errors = [];
  for (const scope of ['v2 admin', 'v2 read write', 'v2 read write'])
    errors.push((await token({ grant_type, code, scope })).body.error);

  expect(errors).toEqual(['invalid_scope', undefined, 'invalid_grant']);
});

it('client_credentials give a token that is refreshed but adds no adverts', async () => {
  const { token, post, refresh } = await start();
  const { body } = await token({ grant_type: 'client_credentials', scope: 'v2 write' });
  const headers = { authorization: `Bearer ${body.access_token}`, version: '2.0' };

  expect(body.scope).toBe('v2 write');
  expect((await post('/api/partner/adverts', { title: 'Bicycle' }, headers)).status).toBe(403);
  expect((await refresh(body.refresh_token)).body.access_token).toBe(body.access_token);
});

it.each([
  ['a wrong secret', { client_secret: 'wrong' }, 401, 'invalid_client'],
  ['an unknown client', { client_id: 'wrong' }, 401, 'invalid_client'],
  ['no secret', { client_secret: undefined }, 400, 'invalid_request'],
  ['no grant type', { grant_type: undefined }, 400, 'invalid_request'],
  ['an unknown grant type', { grant_type: 'password' }, 400, 'unsupported_grant_type'],
  ['no refresh token', { refresh_token: '' }, 400, 'invalid_request'],
  ['an unknown refresh token', { refresh_token: 'wrong' }, 400, 'invalid_grant'],
  ['too much scope', { grant_type: 'client_credentials', scope: 'v2 admin' }, 400, 'invalid_scope'],
])('rejects %s', async (_, fields, status, error) => {
  const { token } = await start();

  const answer = await token({ grant_type: 'refresh_token', refresh_token: first, ...fields });

  expect(answer.status).toBe(status);
  expect(answer.body).toEqual({ error, error_description: expect.any(String) });
});

it.each([
  ['a form', 'grant_type=refresh_token', 'application/x-www-form-urlencoded'],
  ['broken JSON', '{"grant_type":', 'application/json'],
])('rejects %s', async (_, text, type) => {
  const { post } = await start();

  expect((await post('/api/open/oauth/token', text, { 'content-type': type })).body.error).toBe(
    'invalid_request',
  );
});

it('an access token opens the feed of its own user only', async () => {
  const { control, bearer, feed } = await start({ users: [{ name: 'main' }, { name: 'other' }] });
  control.setStatus('1001', 'active');
  control.setStatus('1021', 'active');

  expect((await feed({ since: longAgo }, await bearer('other'))).body.data).toEqual(['1021']);
});

it('an access token expires with the clock, or on demand', async () => {
  const { control, bearer, get } = await start();
  const [headers, statuses] = [await bearer(), [] as number[]];
  const note = async (with_: typeof headers) =>
    statuses.push((await get('/api/partner/threads', with_)).status);
  await note(headers);
  control.clock.advance(24 * hourMs);
  await note(headers);
  const later = await bearer();
  expect(control.expireAccessTokens('main')).toBe(1);
  await note(later);

  expect(statuses).toEqual([200, 401, 401]);
});

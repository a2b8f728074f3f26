import { expect, it } from 'vitest';
import { type Headers, type Started, start } from './start.ts';

const redirect_uri = 'http://127.0.0.1:8765/callback';
const request = {
  client_id: 'sandbox-client',
  response_type: 'code',
  scope: 'v2 read write',
  state: 's+/&<"1',
};
const addressOf = (query: Headers) => `/oauth/authorize/?${new URLSearchParams(query)}`;
const ask = ({ get }: Started, query: Headers) => get(addressOf(query), {});

/** Sends the form of the consent page, as a browser does. */
async function answer({ post }: Started, query: Headers, fields: Headers) {
  const form = String(new URLSearchParams({ user: 'main', ...fields }));
  const type = { 'content-type': 'application/x-www-form-urlencoded' };
  const { status, headers } = await post(addressOf(query), form, type);
  return { status, location: new URL(headers.get('location') ?? 'none:') };
}

it('the consent page shows who asks for what, and loads nothing', async () => {
  const client = await start({ users: [{ name: 'main' }, { name: 'a<b' }] });

  const { status, text, headers } = await ask(client, { ...request, redirect_uri });

  expect(status).toBe(200);
  expect(headers.get('content-type')).toContain('text/html');
  expect(headers.get('content-security-policy')).toContain("default-src 'none'");
  expect(text).toContain('<option>main</option><option>a&#60;b</option>');
  for (const part of ['Advert Bridge', 'sandbox-client', 'v2', 'read', 'write', '127.0.0.1:8765'])
    expect(text).toContain(part);
});

it('a code and the unchanged state are sent back when the user allows', async () => {
  const client = await start({ users: [{ name: 'main' }, { name: 'other', adverts: 1 }] });
  const query = { ...request, redirect_uri: `${redirect_uri}?from=here` };

  const { status, location } = await answer(client, query, { decision: 'allow', user: 'other' });
  const code = location.searchParams.get('code');
  const grant_type = 'authorization_code';
  const { body } = await client.token({ grant_type, code, redirect_uri: query.redirect_uri });
  const headers = { authorization: `Bearer ${body.access_token}`, version: '2.0' };

  expect(status).toBe(302);
  expect(location.href.startsWith(`${redirect_uri}?from=here&code=`)).toBe(true);
  expect(location.searchParams.get('state')).toBe(request.state);
  expect((await client.get('/api/partner/adverts/1021', headers)).status).toBe(200);
});

it.each([
  ['denies', { decision: 'deny' }, 302, 'access_denied'],
  ['is not known', { decision: 'allow', user: 'nobody' }, 400, null],
])('gives no code when the user %s', async (_, fields, status, error) => {
  const given = await answer(await start(), request, fields);

  expect(given.status).toBe(status);
  expect(given.location.searchParams.get('error')).toBe(error);
  expect(given.location.searchParams.get('code')).toBeNull();
});

it("the user's decision can be preset for runs without a browser", async () => {
  const client = await start();
  client.control.setConsent({ mode: 'allow', user: 'main' });
  expect((await ask(client, request)).headers.get('location')).toContain('code=');
  client.control.setConsent({ mode: 'deny' });
  expect((await ask(client, request)).headers.get('location')).toContain('error=access_denied');
});

it.each([
  ['an unknown client', { client_id: 'other' }],
  ['a foreign redirect_uri', { redirect_uri: 'https://evil.example/callback' }],
  ['a path that only begins alike', { redirect_uri: 'http://127.0.0.1:8765/callback-evil' }],
  ['a path that climbs out', { redirect_uri: 'http://127.0.0.1:8765/callback/../evil' }],
  ['a user name before a foreign host', { redirect_uri: 'http://127.0.0.1:8765@evil.example/callback' }],
  ['a user name', { redirect_uri: 'http://user@127.0.0.1:8765/callback' }],
  ['a fragment', { redirect_uri: `${redirect_uri}#part` }],
  ['a repeated &', { redirect_uri: `${redirect_uri}?a=1&&b=2` }],
  ['a line break', { redirect_uri: `${redirect_uri}\r\nx: y` }],
  ['another scheme', { redirect_uri: 'https://127.0.0.1:8765/callback' }],
])('gets an error page and no redirect when it has %s', async (_, fields) => {
  const { status, headers } = await ask(await start(), { ...request, ...fields });

  expect(status).toBe(400);
  expect(headers.get('location')).toBeNull();
  expect(headers.get('content-type')).toContain('text/html');
});

const urls = ['https://one.example/back', 'https://two.example/back'];
const elsewhere = { redirect_uri: 'http://localhost:9999/callback' };
it.each([
  ['no redirect_uri, of several Callback URLs', { callbackUrls: urls }, {}, 400],
  ['a path below one', { callbackUrls: urls }, { redirect_uri: 'https://two.example/back/main?x=1' }, 200],
  ['another loopback port', {}, elsewhere, 200],
  ['scopes separated by a plus', {}, { scope: 'v2+read+write' }, 200],
])('with %s is answered', async (_, options, fields, status) => {
  expect((await ask(await start(options), { ...request, ...fields })).status).toBe(status);
});

it.each([
  ['unsupported_response_type', { response_type: 'token' }],
  ['invalid_scope', { scope: 'v2 admin' }],
])('redirects with the error %s', async (error, fields) => {
  const { status, headers } = await ask(await start(), { ...request, ...fields });

  expect(status).toBe(302);
  expect(new URL(headers.get('location') ?? '').searchParams.get('error')).toBe(error);
});

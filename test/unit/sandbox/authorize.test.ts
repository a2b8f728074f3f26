import { describe, expect, it } from 'vitest';
import { type Client, start } from './start.ts';

const redirect_uri = 'http://127.0.0.1:8765/callback';
const request = {
  client_id: 'sandbox-client',
  response_type: 'code',
  scope: 'v2 read write',
  state: 's+/&<"1',
};

const ask = (client: Client, query: Record<string, string>) =>
  client.get(`/oauth/authorize/?${new URLSearchParams(query)}`, {});

const answer = (client: Client, html: string, fields: Record<string, string>) => {
  const id = /name="request" value="(\w+)"/.exec(html)?.[1] ?? '';
  const form = new URLSearchParams({ request: id, user: 'main', ...fields });
  return client.post('/oauth/authorize/', String(form), {
    'content-type': 'application/x-www-form-urlencoded',
  });
};

describe('the consent page', () => {
  it('shows who asks for what, in HTML that loads nothing', async () => {
    const client = await start();

    const { status, text, headers } = await ask(client, { ...request, redirect_uri });

    expect(status).toBe(200);
    expect(headers.get('content-type')).toContain('text/html');
    expect(headers.get('content-security-policy')).toContain("default-src 'none'");
    for (const part of ['Advert Bridge', 'sandbox-client', 'v2', 'read', 'write', 'Allow', 'Deny']) {
      expect(text).toContain(part);
    }
  });

  it('is there without the slash at the end, and takes scopes separated by a plus', async () => {
    const client = await start();

    const { status } = await client.get(
      '/oauth/authorize?client_id=sandbox-client&response_type=code&scope=v2+read%2Bwrite',
      {},
    );

    expect(status).toBe(200);
  });

  it('lets a person choose among several users', async () => {
    const client = await start({ users: [{ name: 'main' }, { name: 'a<b' }] });

    const { text } = await ask(client, request);

    expect(text).toContain('<option>main</option><option>a&#60;b</option>');
  });

  it('escapes what the application is called', async () => {
    const client = await start({ applicationName: '<script>alert(1)</script>' });

    expect((await ask(client, request)).text).not.toContain('<script>');
  });
});

describe('the decision', () => {
  it('to allow leads back with a code and the unchanged state, and the code is worth a token', async () => {
    const client = await start();
    const page = await ask(client, { ...request, redirect_uri });

    const { status, headers } = await answer(client, page.text, { decision: 'allow' });
    const location = new URL(headers.get('location') ?? '');
    const code = location.searchParams.get('code');
    const token = await client.token({ grant_type: 'authorization_code', code, redirect_uri });

    expect(status).toBe(302);
    expect(location.origin + location.pathname).toBe(redirect_uri);
    expect(location.searchParams.get('state')).toBe(request.state);
    expect(token.status).toBe(200);
  });

  it('to deny leads back with access_denied and the state', async () => {
    const client = await start();
    const page = await ask(client, { ...request, redirect_uri });

    const { headers } = await answer(client, page.text, { decision: 'deny' });
    const location = new URL(headers.get('location') ?? '');

    expect(Object.fromEntries(location.searchParams)).toEqual({
      error: 'access_denied',
      state: request.state,
    });
  });

  it('leaves state away when none was sent, and keeps the parameters of the redirect_uri', async () => {
    const client = await start();
    const { state: _, ...stateless } = request;
    const page = await ask(client, { ...stateless, redirect_uri: `${redirect_uri}?from=here` });

    const { headers } = await answer(client, page.text, { decision: 'allow' });
    const location = new URL(headers.get('location') ?? '');

    expect([...location.searchParams.keys()]).toEqual(['from', 'code']);
  });

  it('counts once', async () => {
    const client = await start();
    const page = await ask(client, request);
    await answer(client, page.text, { decision: 'deny' });

    const { status, headers } = await answer(client, page.text, { decision: 'allow' });

    expect(status).toBe(400);
    expect(headers.get('location')).toBeNull();
  });

  it('grants the chosen user', async () => {
    const client = await start({ users: [{ name: 'main' }, { name: 'other', adverts: 1 }] });
    const page = await ask(client, request);
    const { headers } = await answer(client, page.text, { decision: 'allow', user: 'other' });
    const code = new URL(headers.get('location') ?? '').searchParams.get('code');
    const { access_token } = (await client.token({ grant_type: 'authorization_code', code })).body;

    const { status } = await client.get('/api/partner/adverts/1021', {
      authorization: `Bearer ${access_token}`,
      version: '2.0',
    });

    expect(status).toBe(200);
  });

  it('can be taken without a person', async () => {
    const client = await start();
    client.sandbox.control.setConsent({ mode: 'allow', user: 'main' });
    const allowed = await ask(client, request);
    client.sandbox.control.setConsent({ mode: 'deny' });
    const denied = await ask(client, request);

    expect(allowed.status).toBe(302);
    expect(allowed.headers.get('location')).toContain('code=');
    expect(denied.headers.get('location')).toContain('error=access_denied');
  });
});

describe('a request that cannot be trusted', () => {
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
  ])('gets an error page and no redirect: %s', async (_, fields) => {
    const client = await start();

    const { status, headers } = await ask(client, { ...request, ...fields });

    expect(status).toBe(400);
    expect(headers.get('location')).toBeNull();
    expect(headers.get('content-type')).toContain('text/html');
  });

  it('needs a redirect_uri when several Callback URLs are registered', async () => {
    const callbackUrls = ['https://one.example/back', 'https://two.example/back'];
    const client = await start({ callbackUrls });

    const without = await ask(client, request);
    const below = await ask(client, { ...request, redirect_uri: 'https://two.example/back/main?x=1' });

    expect(without.status).toBe(400);
    expect(below.status).toBe(200);
  });

  it('may come back to another loopback port, unless that is assumed away', async () => {
    const elsewhere = { ...request, redirect_uri: 'http://localhost:9999/callback' };
    const lenient = await start();
    const strict = await start({ assumptions: { loopbackPortMayDiffer: false } });

    expect((await ask(lenient, elsewhere)).status).toBe(200);
    expect((await ask(strict, elsewhere)).status).toBe(400);
  });

  it.each([
    ['unsupported_response_type', { response_type: 'token' }],
    ['invalid_scope', { scope: 'v2 admin' }],
  ])('tells the application of %s', async (error, fields) => {
    const client = await start();

    const { status, headers } = await ask(client, { ...request, ...fields });

    expect(status).toBe(302);
    expect(new URL(headers.get('location') ?? '').searchParams.get('error')).toBe(error);
  });
});

import { request } from 'node:http';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Live } from '../../../../operators/console/live.ts';
import { type ConsoleServer, startServer } from '../../../../operators/console/server.ts';

/** What the server was asked to do. */
let acted: unknown[];
let server: ConsoleServer;
let port: number;
let cookie: string;
let key: string;

const live = {
  subscribe: (push) => {
    push('snapshot', { at: 1 });
    return () => undefined;
  },
  history: async (query) => query,
  deadLetters: async () => ({ matching: 0, total: 0, deadLetters: [], ids: [] }),
} as Pick<Live, 'subscribe' | 'history' | 'deadLetters'> as Live;

async function start(isReadOnly = false): Promise<void> {
  acted = [];
  server = await startServer({
    ...{ port: 0, live, isReadOnly, again: 'advert-bridge console --local /srv/bridge' },
    assets: new Map([['/index.html', { type: 'text/html', content: Buffer.from('<p>page</p>') }]]),
    act: async (action) => {
      acted.push(action);
      return { id: 1 };
    },
  });
  port = Number(new URL(server.url).port);
  const login = await ask(new URL(server.url).search, {}, 'GET', '/');
  cookie = String(login.headers['set-cookie']).split(';')[0] ?? '';
  key = String(login.headers.location).replace('/#', '');
}

type Headers = Readonly<Record<string, string>>;
interface Answer {
  readonly status: number | undefined;
  readonly headers: NodeJS.Dict<string | string[]>;
  readonly body: string;
}

/** A request with any headers at all, as another process on this machine can send it. */
function ask(query: string, headers: Headers, method = 'GET', path = '/', body = ''): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, method, path: path + query, headers }, (answer) => {
      let text = '';
      answer.on('data', (part) => {
        text += part;
        if (answer.headers['content-type'] === 'text/event-stream') answer.destroy();
      });
      answer.on('close', () => resolve({ status: answer.statusCode, headers: answer.headers, body: text }));
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

const known = () => ({ cookie, authorization: `Bearer ${key}` });
const own = () => ({ ...known(), origin: `http://127.0.0.1:${port}`, 'content-type': 'application/json' });
const post = (headers: Headers) => ask('', headers, 'POST', '/actions', '{"action":"poll"}');

beforeEach(() => start());
afterEach(() => server.close());

it('the console’s cookie is for no script and no other site', async () => {
  expect(cookie).toMatch(/^advert-bridge-console-\d+=[\w-]{43}$/);
  const page = await ask('', { cookie });
  expect(page).toMatchObject({ status: 200, body: '<p>page</p>' });
});

it('the console’s key reaches no server with an address or cookie', () => {
  expect(key).toMatch(/^[\w-]{43}$/);
  expect(cookie).not.toContain(key);
});

it('the printed address of the console works once', async () => {
  const again = await ask(new URL(server.url).search, {});
  expect(again.status).toBe(403);
  expect(again.headers['set-cookie']).toBeUndefined();
  expect(again.body).toMatch(/start the console again for a new one: advert-bridge console --local/);
});

const foreign = { origin: 'https://evil.example' };
it.each<[string, Headers, ((headers: Headers) => Promise<Answer>)?]>([
  ['without the cookie', { cookie: '' }, (headers) => ask('', headers, 'GET', '/stream')],
  [
    'with a cookie that somebody guessed',
    { cookie: 'advert-bridge-console-1=x' },
    (headers) => ask('', headers),
  ],
  ['with the cookie alone, which changes something', { authorization: '' }],
  ...['/stream', '/history?account=main&advert=1', '/dead-letters', '/other'].map(
    (path): [string, Headers, (headers: Headers) => Promise<Answer>] => [
      `with the cookie alone, which asks for ${path}`,
      { authorization: '' },
      (headers) => ask(path.slice(1), headers),
    ],
  ),
  ['with the cookie and another key', { authorization: 'Bearer x' }],
  ['with the key alone', { cookie: '' }],
  [
    'to localhost, which may be a server on [::1]',
    { host: '' },
    (headers) => ask('', { ...headers, host: `localhost:${port}` }),
  ],
  ['to another name of this address', { host: 'evil.example' }, (headers) => ask('', headers)],
  ['that changes something, from another page', foreign],
  ['that changes something, from another port of this machine', { origin: 'http://127.0.0.1:1' }],
  ['that changes something, from no page', { origin: '' }],
  ['that changes something, from a form, which sends no JSON', { 'content-type': 'text/plain' }],
  ['of the method PUT', {}, (headers) => ask('', headers, 'PUT', '/actions')],
  ['of the method OPTIONS', {}, (headers) => ask('', headers, 'OPTIONS', '/actions')],
])('the console refuses a request %s', async (_, headers, send = post) => {
  const given = Object.entries({ ...own(), ...headers }).filter(([, value]) => value !== '');

  expect((await send(Object.fromEntries(given))).status).toBe(403);
  expect(acted).toEqual([]);
});

it('the console names its address when another port is forwarded to it', async () => {
  const { status, body } = await ask('', { ...own(), host: '127.0.0.1:9000' });
  expect([status, body]).toEqual([403, expect.stringContaining(`open http://127.0.0.1:${port} `)]);
});

it('the console refuses changes when it is read-only', async () => {
  await server.close();
  await start(true);
  expect((await post(own())).status).toBe(403);
  expect(acted).toEqual([]);
});

it('the console does what its own page asks for', async () => {
  expect(await post(own())).toMatchObject({ status: 202, body: '{"id":1}' });
  expect(acted).toEqual([{ action: 'poll' }]);
});

it('the console finds its cookie among those of other servers', async () => {
  const others = `a=b; ;=${'='.repeat(8_000)}; ${cookie};c`;
  expect(await post({ ...own(), cookie: others })).toMatchObject({ status: 202 });
});

it('the console refuses a body that is not JSON', async () => {
  expect((await ask('', own(), 'POST', '/actions', '{')).status).toBe(400);
});

it('the console’s page allows no inline script, foreign host or framing', async () => {
  const { headers } = await ask('', { cookie });
  expect(headers['content-security-policy']).toMatch(/default-src 'none'.*frame-ancestors 'none'/);
  expect(headers['content-security-policy']).not.toMatch(/unsafe|https?:|\*/);
  expect(headers).toMatchObject({
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
  });
});

it('the console pushes what it knows to a page that opens', async () => {
  const { body } = await ask('', known(), 'GET', '/stream');
  expect(body).toContain('event: snapshot\ndata: {"at":1}');
});

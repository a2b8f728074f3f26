/**
 * The program that the bridge is compared with: it sends the same requests, without state, events, retries and rate
 * limit, and prints how many adverts it fetched.
 *
 * Usage: bare.ts CLIENT URL CONCURRENCY SINCE (CLIENT: http, for Node's own client, or undici)
 */
import { Agent, request } from 'node:http';
import { Pool } from 'undici';

const [client = '', url = '', concurrency = '50', since = ''] = process.argv.slice(2);

interface Call {
  readonly method: string;
  readonly headers: Record<string, string>;
  readonly body: string | undefined;
}
type Client = (path: string, call: Call) => Promise<{ readonly status: number; readonly text: string }>;

const agent = new Agent({ keepAlive: true, maxSockets: Number(concurrency) });
const withHttp: Client = (path, { body, ...options }) =>
  new Promise((resolve, reject) => {
    request(url + path, { ...options, agent }, async (response) => {
      response.setEncoding('utf8');
      let text = '';
      response.on('data', (chunk: string) => {
        text += chunk;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
    })
      .on('error', reject)
      .end(body);
  });

const pool = new Pool(url, { connections: Number(concurrency) });
const withUndici: Client = async (path, { method, headers, body = null }) => {
  const response = await pool.request({ path, method: method as 'GET', headers, body });
  return { status: response.statusCode, text: await response.body.text() };
};

const send = client === 'undici' ? withUndici : withHttp;

async function call<T>(path: string, token: string, body?: unknown): Promise<T> {
  const headers = {
    version: '2.0',
    ...(token ? { authorization: `Bearer ${token}` } : { 'content-type': 'application/json' }),
  };
  const { status, text } = await send(path, {
    method: body ? 'POST' : 'GET',
    headers,
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  if (status !== 200) throw new Error(`${path}: ${status}`);
  return JSON.parse(text) as T;
}

const { access_token: token } = await call<{ access_token: string }>('/api/open/oauth/token', '', {
  grant_type: 'refresh_token',
  client_id: 'sandbox-client',
  client_secret: 'sandbox-client-secret',
  refresh_token: 'sandbox-refresh-token-main',
});

interface Page {
  readonly data: readonly string[];
  readonly hasMore: boolean;
  readonly nextCursor: string;
}

let count = 0;
const waiting: string[] = [];
let reading = true;
const idle: (() => void)[] = [];
const wakeAll = (): void => {
  for (const wake of idle.splice(0)) wake();
};

async function worker(): Promise<void> {
  while (reading || waiting.length > 0) {
    const id = waiting.shift();
    if (id === undefined) await new Promise<void>((resolve) => idle.push(resolve));
    else if ((await call<{ data: { status: string } }>(`/api/partner/adverts/${id}`, token)).data.status)
      count += 1;
  }
}

async function readFeed(): Promise<void> {
  const feed = `/api/partner/status/adverts?since=${encodeURIComponent(since)}&limit=1000`;
  for (let cursor = ''; reading; ) {
    const page: Page = await call(cursor ? `${feed}&cursor=${encodeURIComponent(cursor)}` : feed, token);
    waiting.push(...page.data);
    cursor = page.nextCursor;
    reading = page.hasMore;
    wakeAll();
  }
}

await Promise.all([readFeed(), ...Array.from({ length: Number(concurrency) }, worker)]);
await pool.close();
agent.destroy();
process.stdout.write(`${count}\n`);

/**
 * The program that the bridge is compared with: it sends the same requests, without state, events, retries and rate
 * limit, and prints how many adverts it fetched.
 *
 * Usage: bare.ts URL CONCURRENCY SINCE
 */
import { Pool } from 'undici';

const [url = '', concurrency = '50', since = ''] = process.argv.slice(2);
const pool = new Pool(url, { connections: Number(concurrency) });

async function call<T>(path: string, token: string, body?: unknown): Promise<T> {
  const headers = {
    version: '2.0',
    ...(token ? { authorization: `Bearer ${token}` } : { 'content-type': 'application/json' }),
  };
  const response = await pool.request({
    path,
    method: body ? 'POST' : 'GET',
    headers,
    body: body === undefined ? null : JSON.stringify(body),
  });
  if (response.statusCode !== 200) throw new Error(`${path}: ${response.statusCode}`);
  return (await response.body.json()) as T;
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
process.stdout.write(`${count}\n`);

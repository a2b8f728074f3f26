/**
 * The yardstick: the same HTTP requests as the bridge, over an undici pool, and nothing else. No state, no retries, no
 * rate limit, no events.
 *
 * Usage: bare.ts URL CONCURRENCY SINCE
 */
import { Pool } from 'undici';

const [url = '', concurrency = '50', since = ''] = process.argv.slice(2);
const pool = new Pool(url, { connections: Number(concurrency) });

async function call(path: string, token?: string, body?: unknown): Promise<unknown> {
  const answer = await pool.request({
    path,
    method: body ? 'POST' : 'GET',
    headers: {
      version: '2.0',
      ...(token ? { authorization: `Bearer ${token}` } : {}),
      ...(body ? { 'content-type': 'application/json' } : {}),
    },
    body: body ? JSON.stringify(body) : null,
  });
  if (answer.statusCode !== 200) throw new Error(`${path}: ${answer.statusCode}`);
  return answer.body.json();
}

const { access_token: token } = (await call('/api/open/oauth/token', undefined, {
  grant_type: 'refresh_token',
  client_id: 'sandbox-client',
  client_secret: 'sandbox-client-secret',
  refresh_token: 'sandbox-refresh-token-main',
})) as { access_token: string };

const waiting: string[] = [];
let fetched = 0;
let reading = true;
let wake = () => {};

async function worker(): Promise<void> {
  for (;;) {
    const id = waiting.shift();
    if (id === undefined) {
      if (!reading) return;
      await new Promise<void>((resolve) => {
        const before = wake;
        wake = () => {
          before();
          resolve();
        };
      });
      continue;
    }
    const advert = (await call(`/api/partner/adverts/${id}`, token)) as { data: { status: string } };
    if (advert.data.status) fetched += 1;
  }
}

async function readFeed(): Promise<void> {
  const feed = `/api/partner/status/adverts?since=${encodeURIComponent(since)}&limit=1000`;
  for (let cursor = '', hasMore = true; hasMore; ) {
    const page = (await call(`${feed}${cursor && `&cursor=${encodeURIComponent(cursor)}`}`, token)) as {
      data: string[];
      hasMore: boolean;
      nextCursor: string;
    };
    waiting.push(...page.data);
    ({ hasMore, nextCursor: cursor } = page);
    wake();
    wake = () => {};
  }
  reading = false;
  wake();
}

await Promise.all([readFeed(), ...Array.from({ length: Number(concurrency) }, worker)]);
await pool.close();
process.stdout.write(`${fetched}\n`);

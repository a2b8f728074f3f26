import { Pool } from 'undici';

export interface BareWork {
  /** Called with each page before its adverts are fetched; the next page is read concurrently. */
  readonly listed?: (ids: readonly string[]) => Promise<void>;
  readonly fetched: (id: string, status: string) => void;
}

/** Sends the same HTTP requests as the bridge, through an undici pool, without retries and rate limit. */
export async function makeBareRequests(
  [url = '', concurrency = '50', since = '']: readonly string[],
  { listed, fetched }: BareWork,
): Promise<void> {
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
      fetched(id, advert.data.status);
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
      await listed?.(page.data);
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
}

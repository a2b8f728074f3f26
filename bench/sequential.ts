/**
 * The second program that the bridge is compared with, typical of partners: one request after the other with `fetch`,
 * without state.
 *
 * Usage: sequential.ts URL SINCE CHANGES
 * Prints how many adverts it fetched, and the seconds from the first feed request to the last answer.
 */
const [url = '', since = '', changes = '0'] = process.argv.slice(2);

const answer = await fetch(`${url}/api/open/oauth/token`, {
  method: 'POST',
  headers: { 'content-type': 'application/json', version: '2.0' },
  body: JSON.stringify({
    grant_type: 'refresh_token',
    client_id: 'sandbox-client',
    client_secret: 'sandbox-client-secret',
    refresh_token: 'sandbox-refresh-token-main',
  }),
});
const { access_token: token } = (await answer.json()) as { access_token: string };

async function get<T>(path: string): Promise<T> {
  const answer = await fetch(`${url}/api/partner/${path}`, {
    headers: { authorization: `Bearer ${token}`, version: '2.0' },
  });
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  return (await answer.json()) as T;
}

interface Page {
  readonly data: readonly string[];
  readonly hasMore: boolean;
  readonly nextCursor: string;
}

let fetched = 0;
const begun = performance.now();
const feed = `status/adverts?since=${encodeURIComponent(since)}`;
for (let cursor = '', hasMore = true; hasMore && fetched < Number(changes); ) {
  const page: Page = await get<Page>(`${feed}${cursor && `&cursor=${encodeURIComponent(cursor)}`}`);
  for (const id of page.data.slice(0, Number(changes) - fetched)) {
    await get(`adverts/${id}`);
    fetched += 1;
  }
  ({ hasMore, nextCursor: cursor } = page);
}
process.stdout.write(JSON.stringify({ fetched, seconds: (performance.now() - begun) / 1_000 }));

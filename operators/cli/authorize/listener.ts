/** Waits on loopback for the user's browser to come back from the partner service. */
import { createHash, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import { systemClock } from '../../../shared/domain/clock.ts';
import { closeServer, listenOn } from '../shared/loopback.ts';
import { loopbackRedirect, type Way } from './redirect-uri.ts';

const silenceMs = 10_000;
/** How long to wait until a redirected browser requests the last page. */
const graceMs = 3_000;

/**
 * Any page in the user's browser and any program on this machine can call the address (RFC 8252, section 7.3), so only an
 * answer with the state ends the wait, even if it is a denial. The browser is redirected, so that the code is not in the
 * address bar or the history.
 *
 * @param onStranger called for the first callback without the state
 * @throws the listening error of `node:net`, which cli.ts explains
 */
export async function listenForCallback(at: Way, state: string, onStranger: () => void) {
  const server = createServer({ headersTimeout: silenceMs, requestTimeout: silenceMs });
  const wanted = new URL(at.redirectUri);
  const port = await listenOn(server, at.port, wanted.hostname.replace(/[[\]]/g, ''));
  const redirectUri = wanted.port === '0' ? loopbackRedirect(port) : at.redirectUri;
  const { pathname, host } = new URL(redirectUri);
  const resultPath = `${pathname.replace(/\/$/, '')}/result`;
  const arrived = Promise.withResolvers<URLSearchParams>();
  const shown = new AbortController();
  let [isTaken, strangers] = [false, 0];

  server.on('request', (request, response) => {
    const url = URL.parse(request.url ?? '', redirectUri);
    const end = (status: number, text = refusedText) => response.writeHead(status, pageHeaders).end(text);
    // Protects against DNS rebinding: a page of another site whose name resolves to this machine sends that name.
    if (request.headers.host?.toLowerCase() !== host) return end(421);
    if (request.method !== 'GET') return end(405);
    if (isTaken && url?.pathname === resultPath)
      return end(200, arrivedText).once('finish', () => shown.abort());
    if (url?.pathname !== pathname) return end(404);
    if (!isAnswerTo(url.searchParams, state)) {
      if (++strangers === 1) onStranger();
      return end(400);
    }
    isTaken = true;
    arrived.resolve(url.searchParams);
    response.setHeader('location', resultPath);
    return end(303, '');
  });

  return {
    /** The address to which the partner service sends the browser. */
    redirectUri,
    /** The query of the first callback with the state; never rejects. */
    arrived: arrived.promise,
    async close(): Promise<void> {
      if (isTaken) await systemClock.sleep(graceMs, shown.signal);
      closeServer(server);
    },
  };
}

/** Whether `query` is the answer to the request with `state`: it contains this state exactly once. */
export function isAnswerTo(query: URLSearchParams, state: string): boolean {
  const [given, ...others] = query.getAll('state');
  if (given === undefined || others.length > 0) return false;
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(state));
}

const arrivedText =
  'Advert Bridge, on your own machine, has the answer. The terminal shows the outcome; you can close this page.\n';
const refusedText =
  'This is not the answer that the command in the terminal waits for. Nothing was changed.\n';

const pageHeaders = {
  'content-type': 'text/plain; charset=utf-8',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  // Keep-alive would only delay the end of the command.
  connection: 'close',
};

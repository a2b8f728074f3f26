/** Waits on loopback for the user's browser to come back from the partner service. */
import { createHash, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { systemClock } from '../../shared/domain/clock.ts';
import { listenError } from '../shared/usage.ts';
import { escapeHtml } from './open-browser.ts';
import { type ListenAt, loopbackRedirect } from './redirect-uri.ts';

/** What the browser's user sees. Plain text; commands may be between backticks. */
export interface Page {
  readonly status: number;
  readonly title: string;
  readonly text: string;
}

export interface CallbackListener {
  /** The address to which the partner service sends the browser. */
  readonly redirectUri: string;
  /** The query of the first callback with the state; never rejects. */
  readonly arrived: Promise<URLSearchParams>;
  /** Shows the outcome to the waiting browser, and stops listening. */
  finish(outcome: Page): Promise<void>;
}

/** Timeout for a client that opens a connection and sends nothing. */
const silenceMs = 10_000;
/** How long to wait until a redirected browser requests the result page. */
const graceMs = 3_000;

/**
 * Listens on loopback for one callback with `state`; every other request is answered with an error and changes nothing.
 * Any page in the user's browser and any program on this machine can call it, so only an answer with the state ends the
 * wait, even if it is a denial. The browser is redirected immediately, so that the code is not in the address bar or the
 * history. The result page waits for {@link CallbackListener.finish}.
 *
 * @param onStranger called for each callback without the state
 * @throws {CommandError} if it cannot listen on the port
 * @see https://www.rfc-editor.org/rfc/rfc8252#section-7.3
 */
export async function listenForCallback(
  at: ListenAt,
  state: string,
  onStranger: () => void,
): Promise<CallbackListener> {
  const server = createServer({ headersTimeout: silenceMs, requestTimeout: silenceMs });
  const isIpv6 = at.redirectUri !== undefined && new URL(at.redirectUri).hostname === '[::1]';
  server.listen(at.port, isIpv6 ? '::1' : '127.0.0.1');
  await once(server, 'listening').catch((cause: unknown) => {
    throw listenError(cause, at.port, 'Choose another with --port: one whose Callback URL is registered too');
  });
  const redirectUri = at.redirectUri ?? loopbackRedirect((server.address() as AddressInfo).port);
  const { pathname, host } = new URL(redirectUri);
  const resultPath = `${pathname.replace(/\/$/, '')}/result`;
  const callback = Promise.withResolvers<URLSearchParams>();
  const result = Promise.withResolvers<Page>();
  const shown = new AbortController();
  let isTaken = false;

  function refusal(request: IncomingMessage, url: URL | null): keyof typeof refusals | undefined {
    // Protects against DNS rebinding: a page of another site whose name resolves to this machine sends that name.
    if (request.headers.host?.toLowerCase() !== host) return 421;
    const isResult = isTaken && url?.pathname === resultPath;
    if (!url || (url.pathname !== pathname && !isResult)) return 404;
    if (request.method !== 'GET') return 405;
    if (isResult) return undefined;
    if (!isNavigation(request)) return 403;
    if (!isAnswerTo(url.searchParams, state)) return 400;
    return isTaken ? 409 : undefined;
  }

  server.on('request', async (request, response) => {
    const url = URL.parse(request.url ?? '', redirectUri);
    const refused = refusal(request, url);
    if (refused === 400) onStranger();
    if (!refused && url?.pathname === pathname) {
      isTaken = true;
      response.writeHead(303, { ...pageHeaders, location: resultPath, 'content-length': 0 }).end();
      callback.resolve(url.searchParams);
      return;
    }
    if (!refused) response.once('finish', () => shown.abort());
    const page = refused
      ? { status: refused, title: 'This request is refused', text: refusals[refused] }
      : await result.promise;
    response.writeHead(page.status, { ...pageHeaders, ...(refused === 405 && { allow: 'GET' }) });
    response.end(htmlOf(page));
  });

  return {
    redirectUri,
    arrived: callback.promise,
    async finish(outcome) {
      result.resolve(outcome);
      if (isTaken) await systemClock.sleep(graceMs, shown.signal);
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
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

/**
 * Browsers name the purpose of a request; one that embeds or prefetches the address requests it again when the user
 * opens it. A request without a purpose is accepted.
 *
 * @see https://www.w3.org/TR/fetch-metadata/
 */
function isNavigation({ headers }: IncomingMessage): boolean {
  const destination = headers['sec-fetch-dest'];
  const purpose = headers['sec-purpose'] ?? headers.purpose;
  return (destination === undefined || destination === 'document') && purpose === undefined;
}

const nothingHere = 'There is nothing here. Use the address that the command in the terminal printed.';
const stranger = 'Only a browser that the partner service sends here gets an answer.';
const refusals = {
  400:
    'This answer does not belong to this request: its state is missing or different. It may belong to an earlier ' +
    'attempt, or come from somebody else. Nothing was changed. The command in the terminal still waits.',
  403: stranger,
  404: nothingHere,
  405: nothingHere,
  409: 'This request was answered already: each authorization counts once. The terminal shows its outcome.',
  421: stranger,
} as const;

const style =
  ':root { color-scheme: light dark; } ' +
  'body { max-width: 30rem; margin: 15vh auto; padding: 0 1rem; font: 16px/1.55 system-ui, sans-serif; overflow-wrap: anywhere; }';

const pageHeaders: Readonly<Record<string, string>> = {
  'content-type': 'text/html; charset=utf-8',
  // The page may load, run, frame and send nothing. The style is allowed by its hash, so that no other style applies.
  'content-security-policy':
    `default-src 'none'; style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'; ` +
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'cross-origin-opener-policy': 'same-origin',
  // Keep-alive would only delay the end of the command.
  connection: 'close',
};

const htmlOf = ({ title, text }: Page): string => `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escapeHtml(title)} · Advert Bridge</title>
<link rel="icon" href="data:,">
<style>${style}</style>
<main>
<h1>${escapeHtml(title)}</h1>
<p>${escapeHtml(text).replaceAll(/`([^`]*)`/g, '<code>$1</code>')}</p>
<p>Advert Bridge, on your own machine. You can close this page.</p>
</main>
</html>
`;

/** Waits on loopback for the user's browser to come back from the partner service. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from '../../shared/domain/clock.ts';
import { listenError } from '../shared/usage.ts';
import { type Outcome, pageHeaders, pageOf, strayPages } from './page.ts';
import { type ListenAt, loopbackRedirect } from './redirect-uri.ts';

export interface CallbackListener {
  /** The address to which the partner service sends the browser. */
  readonly redirectUri: string;
  /** The query of the first callback that {@link CallbackGuard.isAnswer} accepts; never rejects. */
  readonly arrived: Promise<URLSearchParams>;
  /** Shows the outcome to the waiting browser, and stops listening. */
  finish(outcome: Outcome): Promise<void>;
}

/** Distinguishes the partner service's answer from other requests. */
export interface CallbackGuard {
  isAnswer(query: URLSearchParams): boolean;
  /** Called for each callback that is not the answer. */
  onStranger(): void;
}

/** Timeout for a client that opens a connection and sends nothing. */
const silenceMs = 10_000;

/** How long to wait until a redirected browser requests the result page. */
const graceMs = 3_000;

/**
 * Listens on loopback for one callback; every other request is answered with an error and changes nothing. The browser
 * is redirected immediately, so that the code is not in the address bar or the history. The result page waits for
 * {@link CallbackListener.finish}.
 *
 * @throws {CommandError} if it cannot listen on the port
 * @see https://www.rfc-editor.org/rfc/rfc8252#section-7.3
 */
export async function listenForCallback(
  at: ListenAt,
  clock: Clock,
  guard: CallbackGuard,
): Promise<CallbackListener> {
  const timeouts = { headersTimeout: silenceMs, requestTimeout: silenceMs };
  const server = createServer(timeouts, (request, response) => void respond(request, response));
  const { port } = await listen(server, at);
  const redirectUri = at.redirectUri ?? loopbackRedirect(port);
  const { pathname, host } = new URL(redirectUri);
  const resultPath = `${pathname.replace(/\/$/, '')}/result`;

  const callback = Promise.withResolvers<URLSearchParams>();
  const result = Promise.withResolvers<Outcome>();
  const shown = new AbortController();
  let isTaken = false;

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const asked = URL.parse(request.url ?? '', redirectUri);
    const isResult = asked?.pathname === resultPath && isTaken;
    if (request.headers.host?.toLowerCase() !== host) {
      // Protects against DNS rebinding: a page of another site whose name resolves to this machine would send that
      // name.
      show(response, 421, strayPages.stranger);
    } else if (!asked || (asked.pathname !== pathname && !isResult)) {
      show(response, 404, strayPages.nothingHere);
    } else if (request.method !== 'GET') {
      show(response, 405, strayPages.nothingHere, { allow: 'GET' });
    } else if (isResult) {
      response.once('finish', () => shown.abort());
      const outcome = await result.promise;
      show(response, outcome.kind === 'failed' ? 400 : 200, outcome);
    } else if (!isNavigation(request)) {
      // A browser that embeds or prefetches the address requests it again when the user opens it.
      show(response, 403, strayPages.stranger);
    } else if (!guard.isAnswer(asked.searchParams)) {
      show(response, 400, strayPages.notOurs);
      guard.onStranger();
    } else if (isTaken) {
      show(response, 409, strayPages.answered);
    } else {
      isTaken = true;
      response.writeHead(303, { ...pageHeaders, location: resultPath, 'content-length': 0 }).end();
      callback.resolve(asked.searchParams);
    }
  }

  return {
    redirectUri,
    arrived: callback.promise,
    async finish(outcome) {
      result.resolve(outcome);
      if (isTaken) await clock.sleep(graceMs, shown.signal);
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function listen(server: Server, { port, redirectUri }: ListenAt): Promise<AddressInfo> {
  const isIpv6 = redirectUri !== undefined && new URL(redirectUri).hostname === '[::1]';
  server.listen(port, isIpv6 ? '::1' : '127.0.0.1');
  await once(server, 'listening').catch((cause: unknown) => {
    throw listenError(cause, port, 'Choose another with --port: one whose Callback URL is registered too');
  });
  return server.address() as AddressInfo;
}

/**
 * Browsers name the purpose of a request. A request without a purpose is accepted.
 *
 * @see https://www.w3.org/TR/fetch-metadata/
 */
function isNavigation({ headers }: IncomingMessage): boolean {
  const destination = headers['sec-fetch-dest'];
  const purpose = headers['sec-purpose'] ?? headers.purpose;
  return (destination === undefined || destination === 'document') && purpose === undefined;
}

function show(
  response: ServerResponse,
  status: number,
  outcome: Outcome,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { ...pageHeaders, ...headers }).end(pageOf(outcome));
}

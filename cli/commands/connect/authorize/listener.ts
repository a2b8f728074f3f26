/** Waits on loopback for the user's browser to come back from the partner service. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from '../../../../shared/domain/clock.ts';
import { listenError } from '../../../shared/listen-error.ts';
import { type Outcome, pageHeaders, pageOf } from './page.ts';
import { type ListenAt, loopbackRedirect } from './redirect-uri.ts';

export interface CallbackListener {
  /** What the partner service is to send the browser to. */
  readonly redirectUri: string;
  /** The query of the first callback that {@link CallbackGuard.isAnswer} takes; never rejects. */
  readonly arrived: Promise<URLSearchParams>;
  /** Shows what came of it to a browser that is waiting for it, and ends. Without a callback it just ends. */
  finish(outcome: Outcome): Promise<void>;
}

/** Tells the answer of the partner service from whatever else leads a browser here. */
export interface CallbackGuard {
  isAnswer(query: URLSearchParams): boolean;
  /** Told of each callback that was none. */
  onStranger(): void;
}

/** For whoever opens a connection and says nothing. */
const silenceMs = 10_000;

/** How long a browser that was sent to the result may take to ask for it. */
const graceMs = 3_000;

/**
 * Listens on loopback for one callback. Whatever else comes is answered with an error and changes nothing, however much of
 * it comes. The browser is sent on from it at once, so that the code is neither in the
 * address bar nor in the history while it is exchanged; the result waits for {@link CallbackListener.finish}.
 *
 * @throws {CommandError} when the port cannot be listened on
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
      // A page of another site that has its name lead here would come with that name.
      show(response, 421, strangers);
    } else if (!asked || (asked.pathname !== pathname && !isResult)) {
      show(response, 404, nothingHere);
    } else if (request.method !== 'GET') {
      show(response, 405, nothingHere, { allow: 'GET' });
    } else if (isResult) {
      response.once('finish', () => shown.abort());
      const outcome = await result.promise;
      show(response, outcome.kind === 'failed' ? 400 : 200, outcome);
    } else if (!isNavigation(request)) {
      // What a page embeds, or a browser fetches ahead, is nobody's answer; the browser comes again for a person.
      show(response, 403, strangers);
    } else if (!guard.isAnswer(asked.searchParams)) {
      show(response, 400, notOurs);
      guard.onStranger();
    } else if (isTaken) {
      show(response, 409, answered);
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

/** Browsers say what a request is for; what says nothing is let through. @see https://www.w3.org/TR/fetch-metadata/ */
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

const nothingHere: Outcome = {
  kind: 'failed',
  title: 'There is nothing here',
  paragraphs: ['Use the address that the command in the terminal printed.'],
};
const strangers: Outcome = {
  kind: 'failed',
  title: 'This request is not taken',
  paragraphs: ['Only a browser that the partner service sends back here is answered.'],
};
const notOurs: Outcome = {
  kind: 'failed',
  title: 'This answer does not belong to this request',
  paragraphs: [
    'Its state is missing or another one: it may be of an earlier attempt, or of somebody else. Nothing was changed.',
    'The command in the terminal still waits. Use the address that it printed.',
  ],
};
const answered: Outcome = {
  kind: 'failed',
  title: 'This was answered already',
  paragraphs: ['Each authorization counts once. The terminal says what came of it.'],
};

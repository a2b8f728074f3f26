/**
 * One HTTP exchange with the partner service: kept-alive sockets, a time limit, a size limit. Every request goes through
 * it, so it makes one promise, one timer and no more objects than it must.
 */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';

export interface WireRequest {
  readonly method: 'GET' | 'POST';
  /** Path and query, percent-encoded, as they go on the wire. */
  readonly path: string;
  /** Names and values in turn, the host included. */
  readonly headers: readonly string[];
  readonly body?: string;
}

export interface Answer {
  readonly status: number;
  /** Node parses the headers only when they are read. */
  readonly head: { readonly headers: IncomingHttpHeaders };
  /** Empty when there was none; `undefined` when it was larger than the limit and so not read. */
  readonly body: string | undefined;
}

export interface TransportOptions {
  /** Scheme, host and port; the rest is ignored. */
  readonly origin: URL;
  /** Sockets at most. Each is opened when it is first needed, and kept. */
  readonly concurrency: number;
  readonly maxAnswerBytes: number;
}

export interface Transport {
  /** @throws {NoAnswerError} when there is no whole answer within `timeoutMs` of real time */
  send(request: WireRequest, timeoutMs: number): Promise<Answer>;
  /** Closes the sockets that are free; those in use end with their request. */
  close(): void;
}

/** Why there is no whole answer. */
export type NoAnswer = 'timeout' | 'not-connected' | 'reset' | 'cut-off' | 'not-http';

export class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError';
  readonly code: NoAnswer;
  /** The socket had served before, and the service closed it while the request was on its way. */
  readonly wasStale: boolean;

  constructor(code: NoAnswer, { wasStale = false, cause }: { wasStale?: boolean; cause?: unknown } = {}) {
    super(texts[code], { cause });
    this.code = code;
    this.wasStale = wasStale;
  }
}

const texts: Readonly<Record<NoAnswer, string>> = {
  timeout: 'no answer in time',
  'not-connected': 'no connection',
  reset: 'the connection broke before an answer',
  'cut-off': 'the answer was cut off',
  'not-http': 'the answer was not HTTP',
};

/** Codes of a connection that was not made: nothing of the request has left the machine. */
const connectCodes: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
]);

/** Creates the transport; no connection is made yet. */
export function createTransport({ origin, concurrency, maxAnswerBytes }: TransportOptions): Transport {
  // An `import` of node:http would read all that it exports, also WebSocket, for which Node loads its own copy of undici:
  // 16 ms and 9 MB.
  const scheme = process.getBuiltinModule(origin.protocol === 'https:' ? 'node:https' : 'node:http');
  const agent = new scheme.Agent({ keepAlive: true, maxSockets: concurrency, maxFreeSockets: concurrency });
  // There is one origin: Node need not build a name from thirty options four times a request.
  agent.getName = () => origin.host;
  const host = origin.hostname.replace(/^\[|\]$/g, '');
  const { port } = origin;

  function send(wire: WireRequest, timeoutMs: number): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const { method, path, headers, body } = wire;
      const request = scheme.request({
        // A POST cannot be repeated, so it takes no socket that may have died while it was idle (in a frozen Lambda most
        // have).
        agent: method === 'POST' ? false : agent,
        host,
        port,
        method,
        path,
        headers,
      });
      let response: IncomingMessage | undefined;
      const timer = setTimeout(() => fail(new NoAnswerError('timeout')), timeoutMs);

      function fail(error: NoAnswerError): void {
        clearTimeout(timer);
        reject(error);
        request.destroy();
      }
      request.on('error', (error) => fail(noAnswer(error, response !== undefined, request.reusedSocket)));
      request.on('response', (incoming: IncomingMessage) => {
        response = incoming;
        readBody(incoming, maxAnswerBytes, (text, error) => {
          if (error) return fail(new NoAnswerError('cut-off', { cause: error }));
          clearTimeout(timer);
          resolve({ status: incoming.statusCode ?? 0, head: incoming, body: text });
          if (text === undefined) request.destroy();
        });
      });
      request.end(body);
    });
  }

  return { send, close: () => agent.destroy() };
}

/** Reads to the end, so that the socket can serve again; gives up beyond the limit. Calls `done` once. */
function readBody(
  incoming: IncomingMessage,
  maxBytes: number,
  done: (text: string | undefined, error?: Error) => void,
): void {
  // Nearly every answer is one chunk.
  let first: Buffer | undefined;
  let rest: Buffer[] | undefined;
  let bytes = 0;
  incoming.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > maxBytes) {
      incoming.removeAllListeners('data').removeAllListeners('end');
      rest = undefined;
      done(undefined);
    } else if (!first) first = chunk;
    else if (rest) rest.push(chunk);
    else rest = [first, chunk];
  });
  incoming.on('end', () => done((rest ? Buffer.concat(rest) : first)?.toString('utf8') ?? ''));
  incoming.on('error', (error) => done(undefined, error));
}

function noAnswer(error: NodeJS.ErrnoException, hadHead: boolean, reused: boolean): NoAnswerError {
  const { code } = error;
  // Node puts the raw bytes of the answer into this error, perhaps a token: so it is not kept as the cause.
  if (code?.startsWith('HPE_')) return new NoAnswerError('not-http');
  if (connectCodes.has(code)) return new NoAnswerError('not-connected', { cause: error });
  if (hadHead) return new NoAnswerError('cut-off', { cause: error });
  return new NoAnswerError('reset', { cause: error, wasStale: reused });
}

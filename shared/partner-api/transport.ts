/** One HTTP exchange with the partner service: kept-alive sockets, a time limit, a size limit. */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';

export interface WireRequest {
  readonly method: 'GET' | 'POST';
  /** Path and query, percent-encoded as sent. */
  readonly path: string;
  /** Alternating names and values, including the host. */
  readonly headers: readonly string[];
  readonly body?: string;
}

export interface Answer {
  readonly status: number;
  /** A getter, because Node parses the headers only when they are read. */
  readonly head: { readonly headers: IncomingHttpHeaders };
  /** Empty if there was no body; `undefined` if it was larger than the limit and therefore not read. */
  readonly body: string | undefined;
}

export interface TransportOptions {
  /** Scheme, host and port are used; the rest is ignored. */
  readonly origin: URL;
  /** Maximum number of sockets. A socket is opened when it is first needed, and kept open. */
  readonly concurrency: number;
  readonly maxAnswerBytes: number;
}

export interface Transport {
  /** @throws {NoAnswerError} when the answer is not complete within `timeoutMs` of real time */
  send(request: WireRequest, timeoutMs: number): Promise<Answer>;
  /** Closes the idle sockets; a socket in use is closed after its request. */
  close(): void;
}

/** Why there is no complete answer. */
const texts = {
  timeout: 'no answer in time',
  'not-connected': 'no connection',
  reset: 'the connection broke before an answer',
  'cut-off': 'the answer was cut off',
  'not-http': 'the answer was not HTTP',
} as const;
type NoAnswer = keyof typeof texts;

export class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError';
  readonly code: NoAnswer;
  /** The service closed a reused socket while the request was being sent. */
  readonly wasStale: boolean;

  constructor(code: NoAnswer, { wasStale = false, cause }: { wasStale?: boolean; cause?: unknown } = {}) {
    super(texts[code], { cause });
    this.code = code;
    this.wasStale = wasStale;
  }
}

/** Error codes of a connection that failed: no part of the request was sent. */
const connectCodes = /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH)$/;

/** Creates the transport; no connection is made yet. */
export function createTransport({ origin, concurrency, maxAnswerBytes }: TransportOptions): Transport {
  // An `import` of node:http reads all its exports, including WebSocket, for which Node loads its own copy of undici
  // (16 ms and 9 MB).
  const scheme = process.getBuiltinModule(origin.protocol === 'https:' ? 'node:https' : 'node:http');
  const agent = new scheme.Agent({ keepAlive: true, maxSockets: concurrency, maxFreeSockets: concurrency });
  // There is only one origin, so Node need not build a pool name from thirty options four times per request.
  agent.getName = () => origin.host;
  const host = origin.hostname.replace(/^\[|\]$/g, '');
  const { port } = origin;

  function send(wire: WireRequest, timeoutMs: number): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const { method, path, headers, body } = wire;
      const request = scheme.request({
        // A POST cannot be repeated, so it does not use an idle socket, which the service may have closed (likely after
        // a Lambda freeze).
        agent: method === 'POST' ? false : agent,
        host,
        port,
        method,
        path,
        headers,
      });
      let hasHead = false;
      const timer = setTimeout(() => fail(new NoAnswerError('timeout')), timeoutMs);

      // What happens after the first of these two changes nothing.
      function fail(error: NoAnswerError): void {
        clearTimeout(timer);
        reject(error);
        request.destroy();
      }
      function succeed(incoming: IncomingMessage, text: string | undefined): void {
        clearTimeout(timer);
        resolve({ status: incoming.statusCode ?? 0, head: incoming, body: text });
      }
      request.on('error', (error) => fail(noAnswer(error, hasHead, request.reusedSocket)));
      request.on('response', (incoming: IncomingMessage) => {
        hasHead = true;
        const chunks: Buffer[] = [];
        let bytes = 0;
        incoming.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
          if (bytes <= maxAnswerBytes) return chunks.push(chunk);
          succeed(incoming, undefined);
          request.destroy();
        });
        // To its end, so that the socket can be reused.
        incoming.on('end', () => succeed(incoming, Buffer.concat(chunks).toString('utf8')));
        incoming.on('error', (error) => fail(new NoAnswerError('cut-off', { cause: error })));
      });
      request.end(body);
    });
  }

  return { send, close: () => agent.destroy() };
}

function noAnswer(error: NodeJS.ErrnoException, hadHead: boolean, reused: boolean): NoAnswerError {
  const { code = '' } = error;
  // Node puts the raw bytes of the answer, which may contain a token, into this error, so it is not kept as the cause.
  if (code.startsWith('HPE_')) return new NoAnswerError('not-http');
  if (connectCodes.test(code)) return new NoAnswerError('not-connected', { cause: error });
  if (hadHead) return new NoAnswerError('cut-off', { cause: error });
  return new NoAnswerError('reset', { cause: error, wasStale: reused });
}

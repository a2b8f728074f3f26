/**
 * One HTTP exchange with the partner service or a webhook: kept-alive sockets, a time limit, a size limit, and the proxy
 * that HTTPS_PROXY, HTTP_PROXY and NO_PROXY name (from Node 22.21 and 24.5 on).
 */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { isLoopback } from '../contract/settings.ts';
import { BridgeFault } from '../domain/faults.ts';
import { proxyEnvironment } from '../domain/proxy-environment.ts';

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
  /** A POST may be sent twice, so it uses a kept-alive socket, too. Default: false */
  readonly mayRepeatPost?: boolean;
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
  proxy: 'the proxy that HTTPS_PROXY or HTTP_PROXY names made no connection',
  'expired-certificate': 'the certificate has expired or is not valid yet',
  'unknown-issuer':
    'the certificate is self-signed or of an unknown authority; if that is right, name the file of its authority in NODE_EXTRA_CA_CERTS',
  'other-host': 'the certificate is for another host name',
  tls: 'no TLS connection could be agreed on',
  reset: 'the connection broke before an answer',
  'cut-off': 'the answer was cut off',
  'long-headers': 'the headers of the answer are longer than 16 KB',
  'not-http': 'the answer was not HTTP',
  coding: 'the answer has a content coding that was not asked for and that cannot be read',
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

/** Whether the service was asked for this resource, and has not answered well. After 429, the whole bridge waits. */
export const isOfService = ({ code, status, cause }: BridgeFault): boolean =>
  code !== 'rate-limited' && (status !== undefined || cause instanceof NoAnswerError);

/**
 * Of several addresses (IPv6 and IPv4), Node gives up each but the last after this time: its own 250 ms are too short for
 * a far service, or for one lost packet, which is sent again after a second. An attempt has time for four dead addresses.
 */
const addressTimeoutMs = 2_000;

/** Error codes of a connection that failed: no part of the request was sent. */
const connectFaults: readonly (readonly [RegExp, NoAnswer])[] = [
  [/^ERR_PROXY_/, 'proxy'],
  [/^CERT_(HAS_EXPIRED|NOT_YET_VALID)$/, 'expired-certificate'],
  [/^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_(GET|VERIFY)_.*)$/, 'unknown-issuer'],
  [/^ERR_TLS_CERT_ALTNAME_/, 'other-host'],
  [/^(EPROTO$|ERR_SSL_|ERR_TLS_|CERT_)/, 'tls'],
];

/**
 * Creates the transport; no connection is made yet.
 *
 * @throws {BridgeFault} where certificates would not be checked: anybody could take the credentials that are sent
 */
export function createTransport({ origin, concurrency, ...options }: TransportOptions): Transport {
  const isTls = origin.protocol === 'https:';
  if (isTls && process.env.NODE_TLS_REJECT_UNAUTHORIZED === '0') {
    throw new BridgeFault(
      'resource-unusable',
      'NODE_TLS_REJECT_UNAUTHORIZED=0 switches off the check of certificates, so that anybody on the way could take the credentials: nothing is sent. Unset it; name the file of a certificate authority of your own in NODE_EXTRA_CA_CERTS',
    );
  }
  // An `import` of node:http reads all its exports, including WebSocket, for which Node loads its own copy of undici
  // (16 ms and 9 MB).
  const scheme = process.getBuiltinModule(isTls ? 'node:https' : 'node:http');
  const host = origin.hostname.replace(/^\[|\]$/g, '');
  const { port } = origin;
  // Plain HTTP on this machine is a sandbox or a neighbour, which no proxy reaches.
  const proxyEnv = isTls || !isLoopback(origin.hostname) ? proxyEnvironment(process.env) : undefined;
  const newAgent = (keepAlive: boolean) => {
    const made = new scheme.Agent({
      keepAlive,
      proxyEnv,
      autoSelectFamilyAttemptTimeout: addressTimeoutMs,
      ...(keepAlive && { maxSockets: concurrency, maxFreeSockets: concurrency }),
    });
    // There is only one origin, so Node need not build a pool name from thirty options four times per request.
    made.getName = () => origin.host;
    return made;
  };
  const agent = newAgent(true);
  // A POST that cannot be repeated does not use an idle socket, which the service may have closed (likely after a Lambda
  // freeze).
  const postAgent = options.mayRepeatPost ? agent : newAgent(false);

  function send(wire: WireRequest, timeoutMs: number): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const { method, path, headers, body } = wire;
      const request = scheme.request({
        agent: method === 'POST' ? postAgent : agent,
        host,
        port,
        method,
        path,
        headers,
      });
      let hasHead = false;
      let isOver = false;
      const timer = setTimeout(() => {
        // If the process stood still, the answer lies in its socket, which Node reads after the timers and before
        // `setImmediate`: twice, because one read may only bring a part of it.
        setImmediate(() => setImmediate(() => isOver || fail(new NoAnswerError('timeout'))));
      }, timeoutMs);

      // What happens after the first of these two changes nothing.
      function fail(error: NoAnswerError): void {
        end();
        reject(error);
        request.destroy();
      }
      function end(): void {
        isOver = true;
        clearTimeout(timer);
      }
      function succeed(incoming: IncomingMessage, text: string | undefined): void {
        end();
        resolve({ status: incoming.statusCode ?? 0, head: incoming, body: text });
      }
      request.on('error', (error) => fail(noAnswer(error, hasHead, request.reusedSocket)));
      request.on('response', (incoming: IncomingMessage) => {
        hasHead = true;
        const chunks: Buffer[] = [];
        let bytes = 0;
        incoming.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
          if (bytes <= options.maxAnswerBytes) return chunks.push(chunk);
          succeed(incoming, undefined);
          request.destroy();
        });
        // To its end, so that the socket can be reused.
        incoming.on('end', () => {
          const coding = incoming.headers['content-encoding'];
          try {
            const whole = decoded(Buffer.concat(chunks), coding, options.maxAnswerBytes);
            succeed(incoming, whole?.toString('utf8'));
          } catch (error) {
            fail(new NoAnswerError('coding', { cause: error }));
          }
        });
        incoming.on('error', (error) => fail(new NoAnswerError('cut-off', { cause: error })));
      });
      request.end(body);
    });
  }

  return { send, close: () => agent.destroy() };
}

function noAnswer(error: NodeJS.ErrnoException, hadHead: boolean, reused: boolean): NoAnswerError {
  const { code = '' } = error;
  if (code === 'HPE_HEADER_OVERFLOW') return new NoAnswerError('long-headers');
  // Node puts the raw bytes of the answer, which may contain a token, into this error, so it is not kept as the cause.
  if (code.startsWith('HPE_')) return new NoAnswerError('not-http');
  if (hadHead) return new NoAnswerError('cut-off', { cause: error });
  // Node makes an AggregateError only when it has tried several addresses.
  if (error instanceof AggregateError || /^(getaddrinfo|connect)$/.test(error.syscall ?? ''))
    return new NoAnswerError('not-connected', { cause: error });
  for (const [pattern, kind] of connectFaults) {
    // The proxy's own error names its address, which may contain a password: only its code is kept.
    if (pattern.test(code)) return new NoAnswerError(kind, { cause: kind === 'proxy' ? { code } : error });
  }
  return new NoAnswerError('reset', { cause: error, wasStale: reused });
}

/** A body in a coding that some proxies choose although `identity` was asked for. @returns undefined if it is too large */
function decoded(body: Buffer, coding = 'identity', maxOutputLength: number): Buffer | undefined {
  const zlib = process.getBuiltinModule('node:zlib');
  const name = coding.trim().toLowerCase();
  if (body.length === 0 || name === '' || name === 'identity') return body;
  try {
    if (name === 'gzip' || name === 'x-gzip' || name === 'deflate')
      return zlib.unzipSync(body, { maxOutputLength });
    if (name === 'br') return zlib.brotliDecompressSync(body, { maxOutputLength });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') return undefined;
    throw error;
  }
  throw new Error('the content coding is not known');
}

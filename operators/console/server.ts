/**
 * The console's HTTP server, on loopback. Everything that is asked for passes {@link refusal} first: the rules of
 * docs/operate/console.md#safety are there and nowhere else.
 */
import { randomBytes, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import * as v from 'valibot';
import type { Assets } from './assets.ts';
import type { Live } from './live.ts';

export interface ConsoleServer {
  /** The address to open: it works once. */
  readonly url: string;
  close(): Promise<void>;
}

export interface ServerOptions {
  /** 0: any free port. */
  readonly port: number;
  readonly assets: Assets;
  readonly live: Live;
  readonly isReadOnly: boolean;
  /** The command that starts this console again. */
  readonly again: string;
  /** Does what the page asks for. @throws {ValiError} for anything else */
  readonly act: (action: unknown) => Promise<unknown>;
}

const host = '127.0.0.1';
const maxBodyBytes = 2_000_000;
/** The page counts the console as gone after three of them. */
const heartbeatMs = 2_000;

const plain = { 'Content-Type': 'text/plain; charset=utf-8' };
const headers = {
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cache-Control': 'no-store',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
};

/** @throws {NodeJS.ErrnoException} when the port is in use */
export async function startServer(options: ServerOptions): Promise<ConsoleServer> {
  const { assets, live } = options;
  let token: string | undefined = randomBytes(32).toString('base64url');
  // Every server on 127.0.0.1 is sent the cookie, whatever its port. So whoever has it is shown the empty page, and everything
  // else takes the key too, which the browser gives to this origin alone.
  const [session, key] = [randomBytes(32).toString('base64url'), randomBytes(32).toString('base64url')];
  const server = createServer((request, response) => void answer(request, response));
  server.listen(options.port, host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  // Cookies do not belong to a port, so two consoles need two names.
  const cookie = `advert-bridge-console-${port}=${session}`;
  const howToOpen = `open the address that the console printed (it works once), or start the console again for a new one: ${options.again}`;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    try {
      const url = new URL(request.url ?? '/', `http://${host}:${port}`);
      if (isLogin(request, url)) {
        token = undefined;
        response.setHeader('Set-Cookie', `${cookie}; HttpOnly; SameSite=Strict; Path=/`);
        // A fragment is sent to no server; the page keeps the key and removes it from the address.
        return end(response.setHeader('Location', `/#${key}`), 303);
      }
      const asset = assets.get(url.pathname === '/' ? '/index.html' : url.pathname);
      const refused = refusal(request, asset !== undefined);
      if (refused && url.pathname === '/') return void response.writeHead(403, plain).end(`${refused}\n`);
      if (refused) return end(response, 403, { error: refused });
      if (request.method === 'POST') return await post(request, response);
      if (asset) return void response.writeHead(200, { 'Content-Type': asset.type }).end(asset.content);
      await get(url, request, response);
    } catch (error) {
      const isWrong = error instanceof v.ValiError || error instanceof SyntaxError;
      end(response, isWrong ? 400 : 500, {
        error: isWrong ? 'not a request of this page' : messageOf(error),
      });
    }
  }

  const isLogin = (request: IncomingMessage, url: URL): boolean =>
    token !== undefined &&
    request.method === 'GET' &&
    isOwnHost(request) &&
    url.pathname === '/' &&
    isSame(url.searchParams.get('token') ?? '', token);

  const isOwnHost = ({ headers: { host: named } }: IncomingMessage): boolean => named === `${host}:${port}`;

  /** Why the request is refused. @param isAsset it asks for a file of the page, in which nothing is secret */
  function refusal(request: IncomingMessage, isAsset: boolean): string | undefined {
    if (!isOwnHost(request))
      return `open http://${host}:${port} (through ssh, forward the same port: -L ${port}:${host}:${port})`;
    const { authorization = '', cookie: cookies = '' } = request.headers;
    const isKnown = cookies.split(';').some((one) => isSame(one.trim(), cookie));
    const hasKey = isSame(authorization, `Bearer ${key}`);
    if (!isKnown || !(hasKey || (isAsset && request.method === 'GET'))) return howToOpen;
    if (request.method === 'GET') return undefined;
    if (request.method !== 'POST') return 'this method is not known here';
    if (request.headers.origin !== `http://${request.headers.host}`) return 'another page sent this';
    if (request.headers['content-type'] !== 'application/json') return 'this is not JSON';
    return options.isReadOnly ? 'this console is read-only' : undefined;
  }

  async function post(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    let bytes = 0;
    for await (const part of request) {
      bytes += (part as Buffer).length;
      if (bytes > maxBodyBytes) return end(response, 413, { error: 'too long' });
      parts.push(part as Buffer);
    }
    end(response, 202, await options.act(JSON.parse(Buffer.concat(parts).toString('utf8'))));
  }

  async function get({ pathname, searchParams }: URL, request: IncomingMessage, response: ServerResponse) {
    const query = Object.fromEntries(searchParams);
    if (pathname === '/stream') return stream(request, response);
    if (pathname === '/history') return end(response, 200, await live.history(query));
    if (pathname === '/dead-letters') return end(response, 200, await live.deadLetters(query));
    end(response, 404, { error: 'there is no such page' });
  }

  /** Server-sent events until the page closes. */
  function stream(request: IncomingMessage, response: ServerResponse): void {
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    const send = (event: string, data: unknown) => {
      // A page that does not read, such as one in the background, gets the next snapshot instead.
      if (response.writableNeedDrain && event === 'snapshot') return;
      response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
    };
    const unsubscribe = live.subscribe(send);
    const heartbeat = setInterval(() => send('heartbeat', null), heartbeatMs);
    request.on('close', () => {
      clearInterval(heartbeat);
      unsubscribe();
    });
  }

  return {
    url: `http://${host}:${port}/?token=${token}`,
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

function end(response: ServerResponse, status: number, body?: unknown): void {
  if (body === undefined) return void response.writeHead(status).end();
  const type = { 'Content-Type': 'application/json; charset=utf-8' };
  response.writeHead(status, type).end(JSON.stringify(body));
}

/** Takes equally long for every text of one length. */
function isSame(given: string, expected: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(expected)];
  return one.length === other.length && timingSafeEqual(one, other);
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

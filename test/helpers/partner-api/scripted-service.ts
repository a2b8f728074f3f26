/** A partner service on loopback that answers by script: the raw HTTP that the sandbox would be too polite for. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface SeenRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
  readonly body: string;
  /** Number of the connection it came on, from 1. */
  readonly connection: number;
}

export type Scripted =
  | {
      readonly status?: number;
      readonly body?: unknown;
      readonly headers?: Readonly<Record<string, string>>;
    }
  | ((request: SeenRequest, response: ServerResponse) => void);

export type ScriptedService = Awaited<ReturnType<typeof startScriptedService>>;

/** Starts the service. It gives the scripted answers in order, and then `always`, which is initially a valid advert. */
export async function startScriptedService() {
  const script: Scripted[] = [];
  const seen: SeenRequest[] = [];
  const connections = new Map<unknown, number>();
  const state: { always: Scripted } = { always: goodAdvert };

  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const one: SeenRequest = {
        method: request.method ?? '',
        url: request.url ?? '',
        headers: request.headers,
        rawHeaders: request.rawHeaders,
        body: Buffer.concat(chunks).toString('utf8'),
        connection: connections.get(request.socket) ?? 0,
      };
      seen.push(one);
      answer(script.shift() ?? state.always, one, response);
    });
  });
  server.on('connection', (socket) => connections.set(socket, connections.size + 1));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    seen,
    state,
    connectionCount: () => connections.size,
    next: (...answers: Scripted[]) => {
      script.push(...answers);
    },
    /** Cuts what is open, as a service does with connections that were idle for too long. */
    cutConnections: () => server.closeAllConnections(),
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function answer(scripted: Scripted, request: SeenRequest, response: ServerResponse): void {
  if (typeof scripted === 'function') {
    scripted(request, response);
    return;
  }
  const { status = 200, body = '', headers = {} } = scripted;
  response.writeHead(status, headers);
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}

/** The advert that was asked for. */
const goodAdvert: Scripted = (request, response) => {
  const id = Number(request.url.split('/').pop());
  response.end(JSON.stringify({ data: { id, status: 'active', title: 'A bicycle' } }));
};

export const reset: Scripted = (_request, response) => {
  response.socket?.resetAndDestroy();
};

/** Half of the answer, then the connection ends. */
export const cutOff: Scripted = (_request, response) => {
  response.writeHead(200, { 'content-length': '100' });
  response.write('{"data":{"id":');
  setImmediate(() => response.socket?.destroy());
};

export const hang: Scripted = () => undefined;

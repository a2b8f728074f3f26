import { createServer as createPlainServer, request as plainRequest, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect, type Server } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { onTestFinished } from 'vitest';
import { authority, goodIdentity } from './certificates.ts';

async function listening(server: Server & { closeAllConnections?(): void }): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections?.();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

/** Until the end of the test. */
export function trustAuthority(): void {
  const before = getCACertificates('default');
  setDefaultCACertificates([...before, authority]);
  onTestFinished(() => setDefaultCACertificates(before));
}

/** An HTTPS server on loopback. @returns its port */
export const startTlsServer = (answer: RequestListener, identity = goodIdentity): Promise<number> =>
  listening(createTlsServer(identity, answer));

/** A proxy that leads every host name to one port of this machine. @returns its address and what it was asked for */
export async function startProxy(port: number, refuses = false) {
  const asked: string[] = [];
  const proxy = createPlainServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    const { pathname } = new URL(request.url ?? '');
    const onward = plainRequest({ port, host: '127.0.0.1', method: request.method, path: pathname });
    onward.on('response', (answer) => {
      response.writeHead(answer.statusCode ?? 0);
      answer.pipe(response);
    });
    request.pipe(onward);
  });
  proxy.on('connect', (request, socket, head) => {
    asked.push(`CONNECT ${request.url}`);
    if (refuses) return socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
    const onward = connect(port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      onward.write(head);
      socket.pipe(onward).pipe(socket);
    });
    for (const end of [onward, socket]) end.on('error', () => onward.destroy());
    socket.on('close', () => onward.destroy());
  });
  return { url: `http://user:hidden-password@127.0.0.1:${await listening(proxy)}`, asked };
}

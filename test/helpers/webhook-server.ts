import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';

export interface ReceivedCall {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly event: { readonly detail: { readonly data: { advertId: string; status: string | null } } };
}

type Answer = { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string };

/** A subscriber on loopback that notes every call. @param answerTo 204 unless it says otherwise */
export async function startWebhook(
  answerTo: (call: ReceivedCall, calls: readonly ReceivedCall[]) => Answer | undefined = () => undefined,
  atEnd = onTestFinished,
) {
  const calls: ReceivedCall[] = [];
  const accepted: ReceivedCall[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (text) => {
      body += text;
    });
    request.on('end', () => {
      const call = { headers: request.headers, body, event: JSON.parse(body) };
      calls.push(call);
      const { status, headers, body: answer } = answerTo(call, calls) ?? { status: 204 };
      if (status < 300) accepted.push(call);
      response.writeHead(status, headers).end(answer);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  atEnd(close);
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}/adverts`, calls, accepted, close };
}

/** A server on loopback that accepts requests and answers none. */
export async function startSilent() {
  const server = createServer(() => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const hangUp = () => server.closeAllConnections();
  onTestFinished(() => {
    hangUp();
    server.close();
  });
  return { url: `http://127.0.0.1:${port}/adverts`, hangUp };
}

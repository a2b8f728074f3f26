import { once } from 'node:events';
import { createServer, type IncomingMessage, request as requestOf } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** The write of a process after which it is killed: before it has the answer, or when it makes its next request. */
export interface Strike {
  readonly write: number;
  readonly when: 'unanswered' | 'answered';
  readonly kill: () => void;
}

/** @returns the kind of the row, or of call, that a request writes; undefined if it only reads */
function writtenBy({ headers, url = '' }: IncomingMessage, body: string): string | undefined {
  if (url.endsWith('/invocations')) return 'invocation';
  if (!/\.(Put|Update|Delete)\w+$/.test(String(headers['x-amz-target']))) return undefined;
  return JSON.parse(body).Item?.pk.S ?? 'other';
}

/** Stands before the emulator, and lets one request after the other through, so that a kill ends in a known place. */
export async function startGate(endpoint: string) {
  let strike: Strike | undefined;
  let writes: string[] = [];
  let isDead = false;
  let turn = Promise.resolve();
  function end(): void {
    isDead = true;
    strike?.kill();
  }

  const server = createServer((request, response) => {
    turn = turn.then(async () => {
      const { method, headers, url = '/' } = request;
      const body = await buffer(request);
      if (!isDead && writes.length === strike?.write) end();
      if (isDead) return void request.destroy();
      const onward = requestOf(new URL(url, endpoint), { method, headers }).end(body);
      const [answer] = (await once(onward, 'response')) as [IncomingMessage];
      const answered = await buffer(answer);
      const written = writtenBy(request, body.toString());
      if (written !== undefined) writes.push(written);
      if (writes.length === strike?.write && strike.when === 'unanswered') return end();
      response.writeHead(answer.statusCode ?? 0, answer.headers).end(answered);
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Counts the writes of another process from here on. */
    begin(next?: Strike): void {
      [strike, writes, isDead] = [next, [], false];
    },
    writes: (): readonly string[] => writes,
    close(): void {
      server.closeAllConnections();
      server.close();
    },
  };
}

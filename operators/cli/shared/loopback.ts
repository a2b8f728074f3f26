import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** @param wanted 0: any free port @returns the port @throws the listening error of `node:net`, which cli.ts explains */
export async function listenOn(server: Server, wanted: number, host = '127.0.0.1'): Promise<number> {
  server.listen(wanted, host);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** Ends open connections too. */
export function closeServer(server: Server): void {
  server.close();
  server.closeAllConnections();
}

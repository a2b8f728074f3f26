import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CommandError } from '../../operations/errors.ts';

/** @param otherPort what to do instead, as a sentence without a full stop */
export function listenError(cause: unknown, port: number, otherPort: string): unknown {
  const { code = '' } = cause as NodeJS.ErrnoException;
  const reasons: Readonly<Record<string, string>> = {
    EADDRINUSE: `port ${port} is in use by another program`,
    EACCES: `this user may not listen on port ${port}, only on ports from 1024 up`,
  };
  return reasons[code] ? new CommandError(`${reasons[code]}. ${otherPort}`, { cause }) : cause;
}

/** @param wanted 0: any free port @param otherPort as for {@link listenError} @returns the port */
export async function listenOnLoopback(
  server: Server,
  wanted: number,
  otherPort: string,
  host = '127.0.0.1',
): Promise<number> {
  server.listen(wanted, host);
  await once(server, 'listening').catch((cause: unknown) => {
    throw listenError(cause, wanted, otherPort);
  });
  return (server.address() as AddressInfo).port;
}

/** Ends open connections too. */
export function closeServer(server: Server): void {
  server.close();
  server.closeAllConnections();
}

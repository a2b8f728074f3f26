import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CommandError } from '../../operations/errors.ts';

/** @param otherPort what to do instead, as a sentence without a full stop */
export function listenError(cause: unknown, port: number, otherPort: string): unknown {
  const { code } = cause as NodeJS.ErrnoException;
  const reasons: Readonly<Record<string, string>> = {
    EADDRINUSE: `port ${port} is in use by another program`,
    EACCES: `this user may not listen on port ${port}, only on ports from 1024 up`,
  };
  const reason = reasons[code ?? ''];
  return reason === undefined ? cause : new CommandError(`${reason}. ${otherPort}`, { cause });
}

/** @param wanted 0: any free port @param otherPort as for {@link listenError} */
export async function listenOnLoopback(
  server: Server,
  wanted: number,
  otherPort: string,
  host = '127.0.0.1',
) {
  server.listen(wanted, host);
  await once(server, 'listening').catch((cause: unknown) => {
    throw listenError(cause, wanted, otherPort);
  });
  return {
    port: (server.address() as AddressInfo).port,
    /** Ends open connections too. */
    async close(): Promise<void> {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

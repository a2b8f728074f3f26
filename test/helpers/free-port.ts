import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * A free port on loopback. It is below those that the system gives to whoever asks for any port, or opens a connection:
 * so it is not taken between this look and its use. Linux begins them at 32768, macOS at 49152.
 *
 * @see https://docs.kernel.org/networking/ip-sysctl.html ip_local_port_range
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 20_000);
    if (await isFree(port)) return port;
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  try {
    await once(server, 'listening');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return false;
    throw error;
  }
  server.close();
  await once(server, 'close');
  return true;
}

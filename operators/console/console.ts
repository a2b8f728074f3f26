/** The console: a page on loopback that shows how a bridge is doing, and does what its commands do. */
import { createActions } from './actions.ts';
import { readAssets } from './assets.ts';
import { createLive } from './live.ts';
import type { ConsoleOptions } from './options.ts';
import { startServer } from './server.ts';

export interface Console {
  /** The address to open: it works once. */
  readonly url: string;
  /** Ends the server, and interrupts what is running. */
  close(): Promise<void>;
}

/** @throws {NodeJS.ErrnoException} when the port is in use */
export async function startConsole(options: ConsoleOptions): Promise<Console> {
  const { bridge, port, isReadOnly, version, command, again } = options;
  const live = createLive(options, {
    requestsPerSecond: null,
    pollSeconds: null,
    kind: bridge.host.kind,
    name: bridge.name,
    command: command('{}'),
    version,
    isReadOnly,
    again,
  });
  const actions = createActions(options, live.showActions);
  const server = await startServer({
    port,
    isReadOnly,
    again,
    live,
    act: actions.act,
    assets: await readAssets(),
  });
  const stopping = new AbortController();
  const running = live.run(stopping.signal);
  return {
    url: server.url,
    async close() {
      stopping.abort();
      await Promise.all([server.close(), actions.close(), running]);
    },
  };
}

/** The console: a page on loopback that shows how a bridge is doing, and does what its commands do. */
import type { Bridge } from '../operations/bridge.ts';
import { quoted } from '../shared/domain/text.ts';
import { createActions } from './actions.ts';
import { readAssets } from './assets.ts';
import type { Breaks } from './breaks.ts';
import { createLive } from './live.ts';
import { startServer } from './server.ts';

export interface ConsoleOptions {
  readonly bridge: Bridge;
  /** 0: any free port. */
  readonly port: number;
  readonly isReadOnly: boolean;
  readonly version: string;
  /** Runs the command line: the program, with its arguments up to the command. */
  readonly program: readonly [string, ...string[]];
  /** The arguments that name the bridge, such as `--local DIR`. */
  readonly place: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** A command of this program for this bridge. */
  readonly command: (words: string) => string;
  readonly say: (text: string) => void;
  /** Only in the demo. */
  readonly breaks?: Breaks;
}

export interface Console {
  /** The address to open: it works once. */
  readonly url: string;
  /** Ends the server, and interrupts what is running. */
  close(): Promise<void>;
}

/** @throws {NodeJS.ErrnoException} when the port is in use */
export async function startConsole(options: ConsoleOptions): Promise<Console> {
  const { bridge, port, isReadOnly, version, program, place, env, command, say, breaks } = options;
  const settings = await bridge.settings().catch(() => undefined);
  const requestsPerSecond = settings?.maxRequestsPerSecond ?? null;
  const shown = {
    requestsPerSecond,
    kind: bridge.kind,
    name: bridge.name,
    place: place.map(quoted).join(' '),
    version,
    isReadOnly,
  };
  const live = createLive({ bridge, shown, command, say, breaks });
  const actions = createActions({
    ...{ program, place, env, breaks },
    clock: bridge.clock,
    who: bridge.who,
    log: say,
    onChange: live.showActions,
  });
  const server = await startServer({ port, isReadOnly, live, act: actions.act, assets: await readAssets() });
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

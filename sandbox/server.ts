import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { createControl, type SandboxControl, type UserOptions } from './control/control.ts';
import { answerControl, controlPath } from './control/control-route.ts';
import { createServiceListener, send } from './listener.ts';
import type { Settings } from './state/settings.ts';
import { createWorld, type WorldOptions } from './state/world.ts';

export interface SandboxOptions extends WorldOptions {
  /** Default 0: any free port. */
  readonly port?: number;
  /** Default: one user, `main`. A user has `adverts` adverts by default. */
  readonly users?: readonly ({ readonly name: string } & UserOptions)[];
  /** Number of adverts of each user before the feed begins; the feed lists them only once they change. Default 20. */
  readonly adverts?: number;
  /** Called with errors of the sandbox itself, which it answers with 500. Default: writes them to standard error. */
  readonly onFault?: (error: unknown) => void;
}

export interface Sandbox {
  /** The base_url of the document, without a trailing slash. */
  readonly url: string;
  readonly port: number;
  readonly application: Readonly<Settings>;
  /** The initial users, with one refresh token each. */
  readonly users: readonly { readonly name: string; readonly refreshToken: string }[];
  readonly control: SandboxControl;
  /** Stops the sandbox and closes every connection, including idle and hanging ones. */
  close(): Promise<void>;
}

/**
 * Starts the sandbox partner service on 127.0.0.1.
 * @throws the listening error of `node:net`, for example EADDRINUSE
 * @throws {RangeError} for impossible options, such as a scope beyond the allowed one
 * @see docs/partner-api.md, and state/settings.ts for what is unknown about the service
 */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const { port: wantedPort = 0, users: wantedUsers = [{ name: 'main' }], adverts = 20, ...others } = options;
  const { onFault = (error) => process.stderr.write(`sandbox: ${String(error)}\n`), ...state } = others;
  const world = createWorld(state);
  const control = createControl(world);
  const users = wantedUsers.map(({ name, ...user }) => control.addUser(name, { adverts, ...user }));

  const serve = createServiceListener(world, onFault);
  const server = createServer({ keepAliveTimeout: 65_000 }, async (request, response) => {
    if (!request.url?.startsWith(controlPath)) return serve(request, response);
    const body = await text(request).catch(() => '');
    send(response, control.clock, answerControl(control, request, body));
  });
  server.listen(wantedPort, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    application: world.settings,
    users,
    control,
    async close() {
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

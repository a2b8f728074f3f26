import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createControl, type SandboxControl } from './control/control.ts';
import { controlPath, createControlListener } from './control/control-route.ts';
import { createServiceListener } from './listener.ts';
import type { Settings } from './state/settings.ts';
import { createWorld, type WorldOptions } from './state/world.ts';

export interface SandboxUser {
  readonly name: string;
  /** A refresh token that is valid from the start. Default: `sandbox-refresh-token-<name>`. */
  readonly refreshToken?: string;
  /** Default: the application's allowed scope. */
  readonly scope?: string;
  /** Default: the option `adverts`. */
  readonly adverts?: number;
}

export interface SandboxOptions extends WorldOptions {
  /** Default 0: any free port. */
  readonly port?: number;
  /** Default: one user, `main`. */
  readonly users?: readonly SandboxUser[];
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
  const users = wantedUsers.map(({ name, ...user }: SandboxUser) => {
    const { refreshToken = `sandbox-refresh-token-${name}` } = user;
    control.addUser(name, { refreshToken, scope: user.scope, adverts: user.adverts ?? adverts });
    return { name, refreshToken };
  });

  const serve = createServiceListener(world, onFault);
  const serveControl = createControlListener(control);
  const server = createServer({ keepAliveTimeout: 65_000 }, (request, response) => {
    if (request.url?.startsWith(controlPath)) serveControl(request, response);
    else serve(request, response);
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

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createControl, type SandboxControl } from './control/control.ts';
import { createControlListener } from './control/control-listener.ts';
import { createAnswerWriter } from './http/wire.ts';
import { createServiceListener } from './listener.ts';
import { type AssumptionOverrides, defaultAssumptions } from './state/assumptions.ts';
import { type Clock, createSandboxClock } from './state/clock.ts';
import { type Random, systemRandom } from './state/random.ts';
import { type Application, createWorld } from './state/world.ts';

export interface SandboxUser {
  readonly name: string;
  /** A refresh token that is valid from the start. Default: `sandbox-refresh-token-<name>`. */
  readonly refreshToken?: string;
  /** Default: the application's allowed scope. */
  readonly scope?: string;
  /** Default: the option `adverts`. */
  readonly adverts?: number;
}

export interface SandboxOptions {
  /** Default 0: any free port. */
  readonly port?: number;
  /** Source of time. Default: the system clock. */
  readonly clock?: Clock;
  /** Default: unpredictable. With `seededRandom(n)`, all tokens, statuses and random changes are reproducible. */
  readonly random?: Random;
  /** Default: one user, `main`. */
  readonly users?: readonly SandboxUser[];
  /** Default `sandbox-client`. */
  readonly clientId?: string;
  /** Default `sandbox-client-secret`. */
  readonly clientSecret?: string;
  /** Name on the consent page. Default `Advert Bridge`. */
  readonly applicationName?: string;
  /** Default `http://127.0.0.1:8765/callback`; see the assumption `loopbackPortMayDiffer`. */
  readonly callbackUrls?: readonly string[];
  /** Default `v2 read write`. */
  readonly allowedScope?: string;
  /** Number of adverts of each user before the feed begins; the feed lists them only once they change. Default 20. */
  readonly adverts?: number;
  /** First advert ID; the IDs of all users count up from here. Default 1001; may exceed 2^53. */
  readonly firstAdvertId?: number | bigint | string;
  /** Delay between recording a change and showing it in the feed, ms. Default 3000. */
  readonly visibilityDelayMs?: number;
  /** Delay of every answer, ms. Default 0. */
  readonly latencyMs?: number;
  /** Default 86400. */
  readonly accessTokenLifetimeSeconds?: number;
  /** How far back the feed reaches. Default null: to the beginning. */
  readonly retentionSeconds?: number | null;
  readonly assumptions?: AssumptionOverrides;
  /** Maximum number of journal entries. Default 100,000. */
  readonly journalLimit?: number;
  /** Called with errors of the sandbox itself, which it answers with 500. Default: writes them to standard error. */
  readonly onFault?: (error: unknown) => void;
}

export interface Sandbox {
  /** The base_url of the document, without a trailing slash. */
  readonly url: string;
  readonly port: number;
  readonly application: Application;
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
 * @see docs/partner-api.md, and assumptions.ts for what is unknown about the service
 */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const world = createWorld(
    {
      application: {
        clientId: options.clientId ?? 'sandbox-client',
        clientSecret: options.clientSecret ?? 'sandbox-client-secret',
        name: options.applicationName ?? 'Advert Bridge',
        callbackUrls: options.callbackUrls ?? ['http://127.0.0.1:8765/callback'],
        allowedScope: options.allowedScope ?? 'v2 read write',
      },
      settings: {
        visibilityDelayMs: options.visibilityDelayMs ?? 3000,
        latencyMs: options.latencyMs ?? 0,
        accessTokenLifetimeSeconds: options.accessTokenLifetimeSeconds ?? 86_400,
        retentionSeconds: options.retentionSeconds ?? null,
      },
      assumptions: options.assumptions ?? {},
      clock: createSandboxClock(options.clock),
      random: options.random ?? systemRandom,
      firstAdvertId: BigInt(options.firstAdvertId ?? 1001),
      journalLimit: options.journalLimit ?? 100_000,
    },
    defaultAssumptions,
  );
  const control = createControl(world);
  const users = (options.users ?? [{ name: 'main' }]).map((user) => {
    const refreshToken = user.refreshToken ?? `sandbox-refresh-token-${user.name}`;
    const { scope } = user;
    const adverts = user.adverts ?? options.adverts ?? 20;
    control.addUser(user.name, { refreshToken, adverts, ...(scope === undefined ? {} : { scope }) });
    return { name: user.name, refreshToken };
  });

  const onFault = options.onFault ?? ((error) => process.stderr.write(`sandbox: ${String(error)}\n`));
  const writer = createAnswerWriter(world.clock);
  const serve = createServiceListener(world, writer, onFault);
  const serveControl = createControlListener(control, writer);
  const server = createServer({ keepAliveTimeout: 65_000 }, (request, response) => {
    if (request.url?.startsWith('/_sandbox')) serveControl(request, response);
    else serve(request, response);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(options.port ?? 0, '127.0.0.1', () => {
      server.off('error', reject);
      resolve();
    });
  });
  const { port } = server.address() as AddressInfo;
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    application: world.application,
    users,
    control,
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}

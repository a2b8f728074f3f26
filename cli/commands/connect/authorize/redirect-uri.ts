/** Where the partner service sends the user's browser back to: a registered Callback URL, or one based on it. */

import { UsageError } from '../../../../operations/errors.ts';
import { isLoopback } from '../../../../shared/contract/settings.ts';

/**
 * Fixed, for the partner service sends a browser back only to a Callback URL that is registered with it: this one, with
 * {@link callbackPath}, is the one to register.
 */
export const defaultPort = 8765;
const callbackPath = '/callback';

/** Where the command listens when a browser on this machine is led back. */
export interface ListenAt {
  readonly port: number;
  /** Given as such; with a port of 0 it is known once the listener has one. */
  readonly redirectUri?: string;
}

export const loopbackRedirect = (port: number): string => `http://127.0.0.1:${port}${callbackPath}`;

const reserved = ['code', 'state', 'error'];

/**
 * What is wrong with a redirect_uri, said as what it should be; undefined when nothing is.
 *
 * @see partner-api.md §5.3, authorization_code rule 1: no repeated `&`, no `#`
 */
export function flawOf(redirectUri: string): string | undefined {
  const url = /^[\x21-\x7e]{1,2000}$/.test(redirectUri) ? URL.parse(redirectUri) : null;
  if (!url || !['http:', 'https:'].includes(url.protocol)) {
    return 'expected a URL that is registered as a Callback URL, such as http://127.0.0.1:8765/callback';
  }
  if (/#|&&|\\/.test(redirectUri)) return 'expected a URL without "#", "\\" and without "&" twice in a row';
  if (url.username || url.password) return 'expected a URL without a user name';
  if (url.protocol === 'http:' && !isLoopback(url.hostname)) {
    return 'expected https (plain http only for loopback): the code comes in its query';
  }
  const taken = reserved.find((name) => url.searchParams.has(name));
  return taken === undefined ? undefined : `expected a URL without the parameter ${taken}`;
}

/** @throws {UsageError} when a browser cannot be led to a listener of this command */
export function listenAt({ port, redirectUri }: { port?: number; redirectUri?: string }): ListenAt {
  if (redirectUri === undefined) return { port: port ?? defaultPort };
  const url = new URL(redirectUri);
  if (url.protocol !== 'http:' || !isLoopback(url.hostname)) {
    throw new UsageError(
      '--redirect-uri: this command can listen on loopback alone (http://127.0.0.1:PORT/PATH). With a Callback URL ' +
        'elsewhere add --paste: the address that the browser ends at is pasted',
    );
  }
  return { port: port ?? Number(url.port || 80), redirectUri };
}

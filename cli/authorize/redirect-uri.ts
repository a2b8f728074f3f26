/**
 * The address to which the partner service sends the user's browser back: a registered Callback URL, or one based on
 * it.
 */
import * as v from 'valibot';
import { UsageError } from '../../operations/errors.ts';
import { isLoopback } from '../../shared/contract/settings.ts';

/**
 * The port is fixed, because the partner service sends a browser back only to a registered Callback URL. Register a URL
 * with this port and {@link callbackPath}.
 */
export const defaultPort = 8765;
const callbackPath = '/callback';

/** The address on this machine at which the command listens for the browser. */
export interface ListenAt {
  readonly port: number;
  /** Undefined: loopback with the port. For port 0, the port is known once the listener has one. */
  readonly redirectUri: string | undefined;
}

export const loopbackRedirect = (port: number): string => `http://127.0.0.1:${port}${callbackPath}`;

const reserved = ['code', 'state', 'error'];

/** A redirect_uri. The partner service rejects one with a repeated `&` or a `#` (docs/partner-api.md). */
export const redirectUrl = v.pipe(
  v.string(),
  v.rawCheck(({ dataset, addIssue }) => {
    const flaw = dataset.typed ? flawOf(dataset.value) : undefined;
    if (flaw !== undefined) addIssue({ message: flaw });
  }),
);

/** The fault of a redirect_uri, worded as the expected value; undefined if it is valid. */
function flawOf(redirectUri: string): string | undefined {
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

/** @throws {UsageError} if this command cannot listen at `redirectUri` */
export function listenAt(port: number | undefined, redirectUri: string | undefined): ListenAt {
  if (redirectUri === undefined) return { port: port ?? defaultPort, redirectUri };
  const url = new URL(redirectUri);
  if (url.protocol !== 'http:' || !isLoopback(url.hostname)) {
    throw new UsageError(
      '--redirect-uri: this command can listen on loopback only (http://127.0.0.1:PORT/PATH). With a Callback URL ' +
        'elsewhere add --paste, and paste the address that the browser ends at',
    );
  }
  // Another user's program may listen on the other one of its addresses, and get the code.
  if (url.hostname === 'localhost') {
    throw new UsageError(
      '--redirect-uri: expected 127.0.0.1 or [::1] in place of localhost, which has several addresses',
    );
  }
  return { port: port ?? Number(url.port || 80), redirectUri };
}

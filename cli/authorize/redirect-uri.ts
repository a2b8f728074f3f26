/** The address to which the partner service sends the user's browser back: a Callback URL, or one based on it. */
import * as v from 'valibot';
import { UsageError } from '../../operations/errors.ts';
import { isLoopback } from '../../shared/contract/settings.ts';

/** Fixed, because the partner service sends a browser back only to a registered Callback URL. */
export const defaultPort = 8765;

export const loopbackRedirect = (port: number): string => `http://127.0.0.1:${port}/callback`;

/** A redirect_uri. The partner service rejects one with a repeated `&` or a `#` (docs/partner-api.md). */
export const redirectUrl = v.pipe(
  v.string(),
  v.check(
    isCallbackUrl,
    `expected a URL that is registered as a Callback URL, such as ${loopbackRedirect(defaultPort)}`,
  ),
  v.check((given) => {
    const url = URL.parse(given);
    return url?.protocol !== 'http:' || isLoopback(url.hostname);
  }, 'expected https (plain http only for loopback): the code comes in its query'),
);

function isCallbackUrl(given: string): boolean {
  const url = /^https?:[\x21-\x7e]{1,2000}$/i.test(given) && !/#|&&|\\/.test(given) ? URL.parse(given) : null;
  if (!url || url.username || url.password) return false;
  return !['code', 'state', 'error'].some((name) => url.searchParams.has(name));
}

/** Where the browser ends: an address on loopback at which the command listens, or one that the user pastes. */
export interface Way {
  readonly port: number;
  /** Default: loopback with the port, which is known for port 0 once the listener has one. */
  readonly redirectUri?: string | undefined;
  readonly paste: boolean;
}

/** @throws {UsageError} if this command cannot listen there */
export function checkedWay({
  port,
  redirectUri,
  paste,
}: Omit<Way, 'port'> & { readonly port?: number | undefined }): Way {
  if (paste && port === 0)
    throw new UsageError('--port: with --paste nothing listens, so there is no free port to take');
  const url = new URL(redirectUri ?? loopbackRedirect(defaultPort));
  if (!paste && url.protocol !== 'http:')
    throw new UsageError(
      '--redirect-uri: this command can listen on loopback only (http://127.0.0.1:PORT/PATH). With a Callback URL ' +
        'elsewhere add --paste, and paste the address that the browser ends at',
    );
  // Another user's program may listen on the other one of its addresses, and get the code.
  if (!paste && url.hostname === 'localhost')
    throw new UsageError(
      '--redirect-uri: expected 127.0.0.1 or [::1] in place of localhost, which has several addresses',
    );
  return { port: port ?? Number(url.port || 80), redirectUri, paste };
}

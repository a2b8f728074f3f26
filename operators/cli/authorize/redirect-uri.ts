/** The address to which the partner service sends the user's browser back: a Callback URL, or one based on it. */
import * as v from 'valibot';
import { isPrivateUrl } from '../../../shared/contract/settings.ts';
import { UsageError } from '../../operations/errors.ts';

/** Fixed, because the partner service sends a browser back only to a registered Callback URL. */
export const defaultPort = 8765;

export const loopbackRedirect = (port: number): string => `http://127.0.0.1:${port}/callback`;

export const redirectUrl = v.pipe(
  v.string(),
  v.check(
    isCallbackUrl,
    `expected a URL that is registered as a Callback URL, such as ${loopbackRedirect(defaultPort)} (plain http only for loopback)`,
  ),
);

/** The code comes in its query. The partner service rejects one with a repeated `&` or a `#` (docs/partner-api.md). */
function isCallbackUrl(given: string): boolean {
  if (!/^[\x21-\x7e]{1,2000}$/.test(given) || /#|&&|\\/.test(given) || !isPrivateUrl(given)) return false;
  const { searchParams } = new URL(given);
  return !['code', 'state', 'error'].some((name) => searchParams.has(name));
}

/** Where the browser ends: an address on loopback at which the command listens, or one that the user pastes. */
export interface Way {
  readonly redirectUri: string;
  /** 0, and then in the address too: any free port. */
  readonly port: number;
  readonly paste: boolean;
}

/** @throws {UsageError} if this command cannot listen there */
export function checkedWay(given: { readonly [K in keyof Way]?: Way[K] | undefined }): Way {
  const { paste = false, redirectUri = loopbackRedirect(given.port ?? defaultPort) } = given;
  if (paste && given.port === 0)
    throw new UsageError('--port: with --paste nothing listens, so there is no free port to take');
  const url = new URL(redirectUri);
  // On the other address of localhost another user's program may listen, and get the code.
  if (!paste && (url.protocol !== 'http:' || url.hostname === 'localhost'))
    throw new UsageError(
      '--redirect-uri: this command can listen on http://127.0.0.1:PORT/PATH and http://[::1]:PORT/PATH alone. With ' +
        'another Callback URL add --paste, and paste the address that the browser ends at',
    );
  return { redirectUri, port: given.port ?? Number(url.port || 80), paste };
}

import type { Application } from '../state/world.ts';

/**
 * Whether a redirect_uri is based on a registered Callback URL: the same origin, and the same path or one below it,
 * with any query. The document says only "based on", so the exact rule is assumed.
 * @see partner-api.md §5.3, authorization_code rules 1 and 4
 */
export function isBasedOnCallback(
  application: Application,
  redirectUri: string,
  loopbackPortMayDiffer: boolean,
): boolean {
  // Printable ASCII only: a URL parser ignores line breaks, but they would reach the Location header.
  if (!/^[\x21-\x7e]+$/.test(redirectUri) || /#|&&|\\/.test(redirectUri)) return false;
  const asked = URL.parse(redirectUri);
  if (asked === null || asked.username !== '' || asked.password !== '') return false;
  return application.callbackUrls.some((callbackUrl) => {
    const registered = URL.parse(callbackUrl);
    if (registered === null) return false;
    const sameOrigin =
      asked.protocol === registered.protocol &&
      (asked.host === registered.host ||
        (loopbackPortMayDiffer && isLoopback(asked.hostname) && isLoopback(registered.hostname)));
    return sameOrigin && isAtOrBelow(asked.pathname, registered.pathname);
  });
}

/** Adds parameters to a redirect_uri, which may already have some. */
export function withParameters(redirectUri: string, parameters: Record<string, string | undefined>): string {
  const added = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) added.append(name, value);
  return `${redirectUri}${redirectUri.includes('?') ? '&' : '?'}${added}`;
}

function isAtOrBelow(path: string, base: string): boolean {
  return path === base || path.startsWith(base.endsWith('/') ? base : `${base}/`);
}

function isLoopback(hostname: string): boolean {
  return ['127.0.0.1', 'localhost', '[::1]'].includes(hostname);
}

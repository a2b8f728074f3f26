/**
 * Whether a redirect_uri is based on a registered Callback URL: the same origin, and the same path or one below it,
 * with any query. The document says only "based on", so the exact rule is assumed.
 * @see partner-api.md §5.3, authorization_code rules 1 and 4
 */
export function isBasedOnCallback(
  callbackUrls: readonly string[],
  redirectUri: string,
  loopbackPortMayDiffer: boolean,
): boolean {
  // Printable ASCII only: a URL parser ignores line breaks, but they would reach the Location header.
  if (!/^[\x21-\x7e]+$/.test(redirectUri) || /#|&&|\\/.test(redirectUri)) return false;
  const requested = URL.parse(redirectUri);
  if (requested === null || requested.username !== '' || requested.password !== '') return false;
  return callbackUrls.some((callbackUrl) => {
    const { protocol, host, hostname, pathname } = new URL(callbackUrl);
    const isSameHost =
      requested.host === host ||
      (loopbackPortMayDiffer && loopback.includes(requested.hostname) && loopback.includes(hostname));
    const below = pathname.endsWith('/') ? pathname : `${pathname}/`;
    const isSamePath = requested.pathname === pathname || requested.pathname.startsWith(below);
    return requested.protocol === protocol && isSameHost && isSamePath;
  });
}

const loopback = ['127.0.0.1', 'localhost', '[::1]'];

/** Adds parameters to a redirect_uri, which may already have some. */
export function withParameters(redirectUri: string, parameters: Record<string, string | undefined>): string {
  const added = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) added.append(name, value);
  return `${redirectUri}${redirectUri.includes('?') ? '&' : '?'}${added}`;
}

/** Builds each request: path, query, headers, body. @see partner-api.md §4, §5.3, §9 */

import { advertIdPattern } from '../contract/checks.ts';
import type { Feed } from '../contract/messages.ts';
import { BridgeFault } from '../domain/faults.ts';
import type { Secret } from '../domain/secret.ts';

/** Sent in User-Agent; a test compares it with the version in package.json. */
export const clientVersion = '0.4.0';

export const paths = {
  adverts: '/api/partner/adverts',
  token: '/api/open/oauth/token',
  authorize: '/oauth/authorize/',
} as const;

/** Builds a percent-encoded query, because a plain `+` would arrive as a space. Undefined fields are left out. */
export function queryOf(fields: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(fields).filter((field): field is [string, string] => field[1] !== undefined);
  return `?${given.map((pair) => pair.map(encodeURIComponent).join('=')).join('&')}`;
}

/** @throws {BridgeFault} `invalid-request` for text that could lead to another path @see partner-api.md §4.3 */
export function objectPath(feed: Feed, id: string): string {
  if (!advertIdPattern.test(id)) {
    throw new BridgeFault('invalid-request', `an ${feed.object} ID has 1 to 20 digits: not sent`);
  }
  return feed.pathOf(id);
}

/** Headers of every request. @param host as in the URL, with the port unless it is the scheme's own */
export const commonHeaders = (host: string, acceptLanguage: string | undefined): readonly string[] => [
  ...['Host', host, 'Accept', 'application/json', 'Version', '2.0'],
  // Without it, any content coding is allowed (RFC 9110 §12.5.3), and the bridge reads none.
  ...['Accept-Encoding', 'identity', 'User-Agent', `advert-bridge/${clientVersion}`],
  ...(acceptLanguage === undefined ? [] : ['Accept-Language', acceptLanguage]),
];

/** @throws {BridgeFault} `malformed-state` */
export function bearer(token: Secret): string {
  const text = token.reveal();
  if (/^[\x21-\x7e]+$/.test(text)) return `Bearer ${text}`;
  throw new BridgeFault(
    'malformed-state',
    'the stored access token has characters that no HTTP header can carry',
  );
}

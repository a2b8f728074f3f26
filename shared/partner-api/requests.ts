/** Builds each request: path, query, headers, body. @see partner-api.md §4, §5.3, §9 */

import { advertIdPattern } from '../contract/checks.ts';
import type { Feed } from '../contract/messages.ts';
import { BridgeFault } from '../domain/faults.ts';
import type { Application, Secret } from '../domain/secret.ts';
import type { FeedQuery } from '../ports/readers.ts';
import type { AuthorizeQuery, Grant } from '../ports/tokens.ts';

/** Sent in User-Agent; a test compares it with the version in package.json. */
export const clientVersion = '0.2.0';

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

/**
 * The query of a page of a feed.
 *
 * @throws {BridgeFault} `malformed-state` for text that cannot be encoded in a URL (half a surrogate pair)
 * @see partner-api.md §4.1
 */
export function feedQuery({ feed, since, cursor, limit }: FeedQuery): string {
  if (!since.isWellFormed() || cursor?.isWellFormed() === false) {
    throw new BridgeFault('malformed-state', `${feed.path}: since or cursor is not well-formed text`);
  }
  return queryOf({ since, cursor, limit: String(limit) });
}

/**
 * Path of one object of a feed.
 *
 * @throws {BridgeFault} `invalid-request` unless the ID is 1 to 20 digits, because other text could lead to another
 * path
 * @see partner-api.md §4.3
 */
export function objectPath(feed: Feed, id: string): string {
  if (!advertIdPattern.test(id)) {
    throw new BridgeFault('invalid-request', `an ${feed.object} ID has 1 to 20 digits: not sent`);
  }
  return feed.pathOf(id);
}

/** Body of a token request. A refresh has no scope; the other grants have one (§5.3). */
export function tokenBody({ clientId, clientSecret }: Application, grant: Grant): string {
  const client = {
    grant_type: grant.type,
    client_id: clientId.reveal(),
    client_secret: clientSecret.reveal(),
  };
  switch (grant.type) {
    case 'refresh_token':
      return JSON.stringify({ ...client, refresh_token: grant.refreshToken.reveal() });
    case 'client_credentials':
      return JSON.stringify({ ...client, scope: grant.scope });
    case 'authorization_code':
      return JSON.stringify({
        ...client,
        scope: grant.scope,
        code: grant.code.reveal(),
        redirect_uri: grant.redirectUri,
      });
  }
}

/**
 * The URL at which the user authorizes the application.
 *
 * @param baseUrl without a slash at its end
 * @see partner-api.md §4.7, §5.3
 */
export function authorizeUrl(baseUrl: string, query: AuthorizeQuery): string {
  const { clientId, scope, state, redirectUri: redirect_uri } = query;
  const fields = { client_id: clientId.reveal(), response_type: 'code', scope, state, redirect_uri };
  return baseUrl + paths.authorize + queryOf(fields);
}

/** @param host as in the URL, with the port unless it is the scheme's own */
export function createHeaders(host: string, acceptLanguage: string | undefined) {
  const common = ['Host', host, 'Accept', 'application/json', 'Version', '2.0'];
  // Without it, any content coding is allowed (RFC 9110 §12.5.3), and the bridge reads none.
  common.push('Accept-Encoding', 'identity');
  common.push('User-Agent', `advert-bridge/${clientVersion}`);
  if (acceptLanguage !== undefined) common.push('Accept-Language', acceptLanguage);
  const kept = new WeakMap<Secret, readonly string[]>();
  return {
    /** Headers of a GET with this access token; cached per token. */
    of(token: Secret): readonly string[] {
      const known = kept.get(token);
      if (known) return known;
      const headers = [...common, 'Authorization', bearer(token)];
      kept.set(token, headers);
      return headers;
    },
    /** Headers of a token request, which needs no Authorization (§4.6). */
    withBody: (body: string): readonly string[] => [
      ...common,
      ...['Content-Type', 'application/json', 'Content-Length', String(Buffer.byteLength(body))],
    ],
  };
}

function bearer(token: Secret): string {
  const text = token.reveal();
  if (/^[\x21-\x7e]+$/.test(text)) return `Bearer ${text}`;
  throw new BridgeFault(
    'malformed-state',
    'the stored access token has characters that no HTTP header can carry',
  );
}

/** How each request looks on the wire: path, query, headers, body. @see partner-api.md §4, §5.3, §9 */

import { advertIdPattern } from '../contract/checks.ts';
import { PartnerError } from '../domain/faults.ts';
import type { Feed } from '../domain/feed.ts';
import type { Secret } from '../domain/secret.ts';
import type { Application } from '../ports/application-secret.ts';
import type { FeedQuery } from '../ports/feed-reader.ts';
import type { Grant } from '../ports/token-endpoint.ts';

/** Goes into User-Agent; a test keeps it equal to the version in package.json. */
export const clientVersion = '0.1.0';

export const paths = {
  adverts: '/api/partner/adverts',
  threads: '/api/partner/threads',
  token: '/api/open/oauth/token',
  authorize: '/oauth/authorize/',
} as const;

/**
 * Path and query of a page of a feed. Everything is percent-encoded: a `+` in `since` would arrive as a space.
 *
 * @throws {PartnerError} `malformed-state` for text that no URL can carry (half a surrogate pair)
 * @see partner-api.md §4.1
 */
export function feedPath({ feed, since, cursor, limit }: FeedQuery): string {
  if (!since.isWellFormed() || cursor?.isWellFormed() === false) {
    throw new PartnerError('malformed-state', `${feed.path}: since or cursor is not well-formed text`);
  }
  const reading = cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`;
  return `${feed.path}?since=${encodeURIComponent(since)}${reading}&limit=${limit}`;
}

/**
 * Path of one object of a feed.
 *
 * @throws {PartnerError} `invalid-request` for anything but 1 to 20 digits, which could lead to another path
 * @see partner-api.md §4.3
 */
export function objectPath(feed: Feed, id: string): string {
  if (!advertIdPattern.test(id)) {
    throw new PartnerError('invalid-request', 'an advert ID has 1 to 20 digits: not sent');
  }
  return feed.pathOf(id);
}

/** Body of a token request: the scope goes with the grants that ask for one (§5.3), not with a refresh. */
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

export interface AuthorizeQuery {
  readonly clientId: Secret;
  /** Space separated. */
  readonly scope: string;
  /** Random; the service returns it unchanged. */
  readonly state: string;
  /** Needed when several callback URLs are registered; then also in the token request. */
  readonly redirectUri?: string;
}

/**
 * Where the user's browser is sent to authorize the application.
 *
 * @param baseUrl without a slash at its end
 * @see partner-api.md §4.7, §5.3
 */
export function authorizeUrl(
  baseUrl: string,
  { clientId, scope, state, redirectUri }: AuthorizeQuery,
): string {
  const query = [
    ['client_id', clientId.reveal()],
    ['response_type', 'code'],
    ['scope', scope],
    ['state', state],
    ...(redirectUri === undefined ? [] : [['redirect_uri', redirectUri]]),
  ];
  const text = query
    .map((pair) => pair.map((part) => encodeURIComponent(part as string)).join('='))
    .join('&');
  return `${baseUrl}${paths.authorize}?${text}`;
}

export interface Headers {
  /** Of a request without a body; kept for each token, for they are the same every time. */
  of(token: Secret): readonly string[];
  /** Of a request with a JSON body; the token endpoint needs no Authorization (§4.6). */
  withBody(body: string, token?: Secret): readonly string[];
}

/** @param host as in the URL, with the port unless it is the scheme's own */
export function createHeaders(host: string, acceptLanguage: string | undefined): Headers {
  const common = [
    'Host',
    host,
    'Accept',
    'application/json',
    'Version',
    '2.0',
    'User-Agent',
    `advert-bridge/${clientVersion}`,
    ...(acceptLanguage === undefined ? [] : ['Accept-Language', acceptLanguage]),
  ];
  const kept = new WeakMap<Secret, readonly string[]>();

  function of(token: Secret): readonly string[] {
    const known = kept.get(token);
    if (known) return known;
    const headers = [...common, 'Authorization', bearer(token)];
    kept.set(token, headers);
    return headers;
  }

  return {
    of,
    withBody: (body, token) => [
      ...(token ? of(token) : common),
      'Content-Type',
      'application/json',
      'Content-Length',
      String(Buffer.byteLength(body)),
    ],
  };
}

function bearer(token: Secret): string {
  const text = token.reveal();
  if (/^[\x21-\x7e]+$/.test(text)) return `Bearer ${text}`;
  throw new PartnerError('malformed-state', 'the stored access token holds what no header can carry');
}

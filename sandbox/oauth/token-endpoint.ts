import { jsonFields, type ServiceRequest } from '../http/request.ts';
import { type Answer, answerWith, refused } from '../state/answer.ts';
import { covers, type Grant, scopeNames } from '../state/tokens.ts';
import type { World } from '../state/world.ts';

/** Assumed: how long a one-time code can be exchanged. */
const codeLifetimeMs = 600_000;

type Fields = ReadonlyMap<string, string>;

/**
 * POST /api/open/oauth/token: the three grants.
 * @returns 200 with the token response
 * @throws {RefusedError} assumed, as in RFC 6749 §5.2: 400 `invalid_request`, `invalid_grant`, `invalid_scope` or
 * `unsupported_grant_type`; 401 `invalid_client`
 * @see partner-api.md §2.3, §4.6, §5.3
 */
export function serveToken(world: World, request: ServiceRequest): Answer {
  const body = jsonFields(request);
  if (body === undefined)
    throw refused('invalid_request', 'The body must be a JSON object, as application/json.');
  const fields = formFields(body);
  const { clientId, clientSecret } = world.settings;
  const sent = [required(fields, 'client_id'), required(fields, 'client_secret')];
  if (sent[0] !== clientId || sent[1] !== clientSecret)
    throw refused('invalid_client', 'The client credentials are not valid.', 401);
  return tokenAnswer(world, grantFor(world, fields));
}

function grantFor(world: World, fields: Fields): Grant {
  switch (required(fields, 'grant_type')) {
    case 'refresh_token': {
      const grant = world.tokens.useRefreshToken(required(fields, 'refresh_token'));
      if (grant === undefined) throw refused('invalid_grant', 'The refresh token is not valid.');
      return grant;
    }
    case 'authorization_code':
      return exchangeCode(world, fields);
    case 'client_credentials':
      return world.tokens.openGrant(null, requestedScope(fields, world.settings.allowedScope));
    default:
      throw refused('unsupported_grant_type', 'The grant type is not known.');
  }
}

function exchangeCode(world: World, fields: Fields): Grant {
  // Checks the scope first, so that a typing error in it does not use up the one-time code.
  requestedScope(fields, world.settings.allowedScope);
  const code = required(fields, 'code');
  const issued = world.codes.get(code);
  world.codes.delete(code);
  const ageMs = world.clock.now() - (issued?.issuedAtMs ?? 0);
  if (issued === undefined || ageMs >= codeLifetimeMs) {
    throw refused('invalid_grant', 'The code is not known, was used or has expired.');
  }
  if (issued.redirectUri !== undefined && required(fields, 'redirect_uri') !== issued.redirectUri) {
    throw refused('invalid_grant', 'The redirect_uri is not the one the code was issued for.');
  }
  return world.tokens.openGrant(issued.user, requestedScope(fields, issued.scope));
}

function tokenAnswer(world: World, grant: Grant): Answer {
  const { accessToken, accessTokenExpiresAtMs, refreshToken, scope } = world.tokens.renew(grant);
  const body = {
    access_token: accessToken,
    expires_in: Math.floor((accessTokenExpiresAtMs - world.clock.now()) / 1000),
    token_type: 'bearer',
    scope,
    refresh_token: refreshToken,
  };
  return answerWith(200, body, { 'cache-control': 'no-store' });
}

/** The requested scope; by default the whole allowed scope. */
function requestedScope(fields: Fields, allowed: string): string {
  const scope = fields.get('scope') || allowed;
  const names = scopeNames(scope);
  if (names.length === 0 || !covers(allowed, scope))
    throw refused('invalid_scope', 'The scope is not allowed.');
  return names.join(' ');
}

function required(fields: Fields, name: string): string {
  const value = fields.get(name);
  if (!value) throw refused('invalid_request', `The field ${name} is required.`);
  return value;
}

/** The fields that are strings or numbers, which count as their digits. */
function formFields(body: Record<string, unknown>): Fields {
  const given = Object.entries(body).filter(([, value]) => ['string', 'number'].includes(typeof value));
  return new Map(given.map(([name, value]) => [name, String(value)]));
}

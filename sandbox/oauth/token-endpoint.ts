import { errorAnswer } from '../http/errors.ts';
import { isJson, jsonObject, type ServiceRequest } from '../http/request.ts';
import { type Answer, json } from '../state/answer.ts';
import { covers, scopeNames } from '../state/scope.ts';
import type { Grant } from '../state/tokens.ts';
import type { World } from '../state/world.ts';

/** Thrown and caught only in this module; the answer contains its status and code. */
class RefusedError extends Error {
  readonly status: number;
  readonly code: string;

  constructor(code: string, message: string, status = 400) {
    super(message);
    this.code = code;
    this.status = status;
  }
}

/**
 * POST /api/open/oauth/token: the three grants.
 * @returns 200 with the token response, or an error (assumed, as in RFC 6749 §5.2): 400 `invalid_request`,
 * `invalid_grant`, `invalid_scope` or `unsupported_grant_type`; 401 `invalid_client`
 * @see partner-api.md §2.3, §4.6, §5.3
 */
export function serveToken(world: World, request: ServiceRequest): Answer {
  try {
    if (!isJson(request.headers))
      throw new RefusedError('invalid_request', 'The body must be application/json.');
    const fields = jsonObject(request.body);
    if (fields === undefined) throw new RefusedError('invalid_request', 'The body is not a JSON object.');
    checkClient(world, fields);
    const grantType = required(fields, 'grant_type');
    return tokenAnswer(world, grantFor(world, grantType, fields), grantType === 'refresh_token');
  } catch (error) {
    if (!(error instanceof RefusedError)) throw error;
    const { status, code, message } = error;
    return errorAnswer(world.settings.assumptions.errorShapes.token, { status, code, message });
  }
}

function grantFor(world: World, grantType: string, fields: Record<string, unknown>): Grant {
  switch (grantType) {
    case 'refresh_token': {
      const grant = world.tokens.useRefreshToken(required(fields, 'refresh_token'));
      if (grant === undefined) throw new RefusedError('invalid_grant', 'The refresh token is not valid.');
      return grant;
    }
    case 'authorization_code':
      return exchangeCode(world, fields);
    case 'client_credentials':
      return world.tokens.openGrant(null, askedScope(fields, world.application.allowedScope));
    default:
      throw new RefusedError('unsupported_grant_type', 'The grant type is not known.');
  }
}

function exchangeCode(world: World, fields: Record<string, unknown>): Grant {
  // Checks the scope first, so that a typing error in it does not use up the one-time code.
  const scope = optional(fields, 'scope');
  if (scope !== undefined) askedScope(fields, world.application.allowedScope);
  const issued = world.consent.takeCode(required(fields, 'code'));
  const ageMs = world.clock.now() - (issued?.issuedAtMs ?? 0);
  if (issued === undefined || ageMs >= world.settings.assumptions.authorizationCodeLifetimeSeconds * 1000) {
    throw new RefusedError('invalid_grant', 'The code is not known, was used or has expired.');
  }
  if (issued.redirectUri !== undefined && required(fields, 'redirect_uri') !== issued.redirectUri) {
    throw new RefusedError('invalid_grant', 'The redirect_uri is not the one the code was issued for.');
  }
  return world.tokens.openGrant(issued.user, askedScope(fields, issued.scope));
}

function tokenAnswer(world: World, grant: Grant, isRefresh: boolean): Answer {
  const { expiresInAsString, refreshOmits } = world.settings.assumptions;
  const { access, refreshToken, refreshTokenIsNew } = world.tokens.pair(grant);
  const remainingSeconds = Math.floor((access.expiresAtMs - world.clock.now()) / 1000);
  const body: Record<string, unknown> = {
    access_token: access.value,
    expires_in: expiresInAsString ? String(remainingSeconds) : remainingSeconds,
    token_type: 'bearer',
    scope: grant.scope,
    refresh_token: refreshToken,
  };
  if (isRefresh && refreshOmits.includes('scope')) delete body.scope;
  if (isRefresh && refreshOmits.includes('refresh_token') && !refreshTokenIsNew) delete body.refresh_token;
  return json(200, body, { 'cache-control': 'no-store' });
}

function checkClient(world: World, fields: Record<string, unknown>): void {
  const { clientId, clientSecret } = world.application;
  const sent = [required(fields, 'client_id'), required(fields, 'client_secret')];
  if (sent[0] !== clientId || sent[1] !== clientSecret) {
    throw new RefusedError('invalid_client', 'The client credentials are not valid.', 401);
  }
}

/** The requested scope; by default the whole allowed scope. */
function askedScope(fields: Record<string, unknown>, allowed: string): string {
  const scope = optional(fields, 'scope');
  if (scope === undefined) return allowed;
  const names = scopeNames(scope);
  if (names.length === 0 || !covers(allowed, scope))
    throw new RefusedError('invalid_scope', 'The scope is not allowed.');
  return names.join(' ');
}

function required(fields: Record<string, unknown>, name: string): string {
  const value = optional(fields, name);
  if (value === undefined) throw new RefusedError('invalid_request', `The field ${name} is required.`);
  return value;
}

function optional(fields: Record<string, unknown>, name: string): string | undefined {
  const value = fields[name];
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value === 'number') return String(value);
  if (typeof value !== 'string')
    throw new RefusedError('invalid_request', `The field ${name} is not a string.`);
  return value;
}

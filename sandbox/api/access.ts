import type { ServiceRequest } from '../http/request.ts';
import { RefusedError } from '../state/answer.ts';
import type { PartnerAccount } from '../state/partner-account.ts';
import { covers } from '../state/tokens.ts';
import type { World } from '../state/world.ts';

/**
 * Checks a request to /api/partner: Authorization first, then Version, then scope (both the order and the answers are
 * assumed).
 * @returns the user's account
 * @throws {RefusedError} 401 `invalid_token`, 400 `validation_error`, 403 `insufficient_scope`
 * @see partner-api.md §4, §5.1, §9
 */
export function admit(world: World, request: ServiceRequest): PartnerAccount {
  const token = request.accessToken;
  if (request.headers.authorization === undefined) throw unauthorized('The access token is missing.');
  if (token === undefined) throw unauthorized('The access token is not known.');
  if (!world.tokens.isValid(token)) throw unauthorized('The access token has expired.');
  checkVersion(world, request);

  const { requiredScopes } = world.settings.assumptions;
  const needed = request.method === 'GET' ? requiredScopes.read : requiredScopes.write;
  const { user, scope } = token.grant;
  if (user === null) throw forbidden('This needs the token of a user.');
  if (!covers(scope, needed)) throw forbidden(`This needs the scope ${needed}.`);
  const account = world.accounts.get(user);
  if (account === undefined) throw unauthorized('The user of this access token is not known.');
  return account;
}

/** @throws {RefusedError} 400 when the header Version is missing or names an unsupported version */
export function checkVersion(world: World, { headers: { version } }: ServiceRequest): void {
  if (typeof version === 'string' && world.settings.assumptions.acceptedVersions.includes(version)) return;
  const message = `The header Version ${version === undefined ? 'is required' : 'names a version not served'}.`;
  const error = { status: 400, code: 'validation_error', message, field: 'Version' };
  throw new RefusedError('validation', error);
}

const unauthorized = (message: string) =>
  new RefusedError('authorization', { status: 401, code: 'invalid_token', message });

const forbidden = (message: string) =>
  new RefusedError('authorization', { status: 403, code: 'insufficient_scope', message });

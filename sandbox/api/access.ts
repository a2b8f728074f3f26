import { errorAnswer } from '../http/errors.ts';
import type { ServiceRequest } from '../http/request.ts';
import type { Answer } from '../state/answer.ts';
import type { PartnerAccount } from '../state/partner-account.ts';
import { covers } from '../state/scope.ts';
import type { World } from '../state/world.ts';

/**
 * Checks a request to /api/partner: Authorization first, then Version, then scope (both the order and the answers are
 * assumed).
 * @returns the user's account, or the refusal: 401 `invalid_token`, 400 `validation_error`, 403 `insufficient_scope`
 * @see partner-api.md §4, §5.1, §9
 */
export function admit(world: World, request: ServiceRequest): PartnerAccount | Answer {
  const { requiredScopes, errorShapes } = world.settings.assumptions;
  const refuse = (status: number, code: string, message: string): Answer =>
    errorAnswer(errorShapes.authorization, { status, code, message });

  const token = request.accessToken;
  if (request.headers.authorization === undefined)
    return refuse(401, 'invalid_token', 'The access token is missing.');
  if (token === undefined) return refuse(401, 'invalid_token', 'The access token is not known.');
  if (!world.tokens.isValid(token)) return refuse(401, 'invalid_token', 'The access token has expired.');

  const version = checkVersion(world, request);
  if (version !== undefined) return version;

  const needed = request.method === 'GET' ? requiredScopes.read : requiredScopes.write;
  const { user, scope } = token.grant;
  if (user === null) return refuse(403, 'insufficient_scope', 'This needs the token of a user.');
  if (!covers(scope, needed)) return refuse(403, 'insufficient_scope', `This needs the scope ${needed}.`);
  const account = world.accounts.get(user);
  return account ?? refuse(401, 'invalid_token', 'The user of this access token is not known.');
}

/** @returns the refusal when the header Version is missing or names an unsupported version */
export function checkVersion(world: World, request: ServiceRequest): Answer | undefined {
  const { acceptedVersions, errorShapes } = world.settings.assumptions;
  const { version } = request.headers;
  if (typeof version === 'string' && acceptedVersions.includes(version)) return undefined;
  const message =
    version === undefined
      ? 'The header Version is required.'
      : 'The header Version names a version not served.';
  return errorAnswer(errorShapes.validation, {
    status: 400,
    code: 'validation_error',
    message,
    field: 'Version',
  });
}

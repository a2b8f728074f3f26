import type { ServiceRequest } from '../http/request.ts';
import { invalid, refused } from '../state/answer.ts';
import { covers } from '../state/tokens.ts';
import type { PartnerAccount, World } from '../state/world.ts';

/**
 * Checks a request to /api/partner: Authorization first, then Version, then scope (both the order and the answers are
 * assumed).
 * @returns the user's account
 * @throws {RefusedError} 401 `invalid_token`, 400 `validation_error`, 403 `insufficient_scope`
 * @see partner-api.md §4, §5.1, §9
 */
export function admit(world: World, request: ServiceRequest): PartnerAccount {
  const grant = world.tokens.grantOf(request.accessToken);
  if (grant === undefined)
    throw refused('invalid_token', 'The access token is missing, not known or has expired.', 401);
  if (request.headers.version !== '2.0')
    throw invalid('Version', 'The header Version must name a supported version.');

  const needed = request.method === 'GET' ? 'v2 read' : 'v2 write';
  const { user, scope } = grant;
  const account = world.accounts.get(user ?? '');
  if (account !== undefined && covers(scope, needed)) return account;
  throw refused('insufficient_scope', `This needs the token of a user, with the scope ${needed}.`, 403);
}

import { createAdvert, serveAdvert, serveAdverts, serveThreads } from './api/adverts.ts';
import { serveFeed } from './api/feed.ts';
import type { ServiceRequest } from './http/request.ts';
import { serveAuthorize } from './oauth/authorize.ts';
import { serveToken } from './oauth/token-endpoint.ts';
import { type Answer, html, invalid, notThere, refused } from './state/answer.ts';
import type { EndpointName } from './state/faults.ts';
import { covers } from './state/tokens.ts';
import type { PartnerAccount, World } from './state/world.ts';

/** Answers a request according to the document. @throws {RefusedError} @see partner-api.md §4 */
type Handler = (world: World, request: ServiceRequest) => Answer;

const forUser =
  (serve: (world: World, account: PartnerAccount, request: ServiceRequest) => Answer): Handler =>
  (world, request) =>
    serve(world, admit(world, request), request);

/** The paths of the document, most requested first. Any single path segment counts as an ID, digits or not. */
const routes: readonly (readonly [method: string, path: RegExp, endpoint: EndpointName, serve: Handler])[] = [
  ['GET', /^\/api\/partner\/adverts\/([^/]+)$/, 'advert', forUser(serveAdvert)],
  ['GET', /^\/api\/partner\/status\/adverts$/, 'feed', forUser(serveFeed)],
  ['GET', /^\/api\/partner\/adverts$/, 'adverts', forUser(serveAdverts)],
  ['POST', /^\/api\/partner\/adverts$/, 'create-advert', forUser(createAdvert)],
  ['GET', /^\/api\/partner\/threads$/, 'threads', forUser(serveThreads)],
  ['POST', /^\/api\/open\/oauth\/token$/, 'token', serveToken],
  ['GET', /^\/oauth\/authorize\/?$/, 'authorize', serveAuthorize],
  ['POST', /^\/oauth\/authorize\/?$/, 'authorize', serveAuthorize],
];

interface Route {
  /** Null: unknown path or method. */
  readonly endpoint: EndpointName | null;
  /** The ID in the path of an advert, as sent. */
  readonly advertId: string | null;
  readonly serve: Handler;
}

/** Assumed: the web server answers an unknown path before the service does, so not in the service's error shape. */
export function routeOf(method: string, path: string): Route {
  const there = routes.filter(([, pattern]) => pattern.test(path));
  const route = there.find(([supported]) => supported === method);
  if (route !== undefined) {
    const [, pattern, endpoint, serve] = route;
    return { endpoint, advertId: pattern.exec(path)?.[1] ?? null, serve };
  }
  const headers = { allow: there.map(([supported]) => supported).join(', ') };
  const serve = () => {
    if (there.length === 0) return html(404, '<html><body><h1>404 Not Found</h1></body></html>');
    throw notThere(405, 'method_not_allowed', 'Not with this method.', headers);
  };
  return { endpoint: null, advertId: null, serve };
}

/**
 * Checks a request to /api/partner: Authorization first, then Version, then scope (both the order and the answers are
 * assumed).
 * @returns the user's account
 * @throws {RefusedError} 401 `invalid_token`, 400 `validation_error`, 403 `insufficient_scope`
 * @see partner-api.md §4, §5.1, §9
 */
function admit(world: World, request: ServiceRequest): PartnerAccount {
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

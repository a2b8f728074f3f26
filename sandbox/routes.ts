import { admit } from './api/access.ts';
import { createAdvert, serveAdvert, serveAdverts, serveThreads } from './api/adverts.ts';
import { serveFeed } from './api/feed.ts';
import type { ServiceRequest } from './http/request.ts';
import { serveAuthorize } from './oauth/authorize.ts';
import { serveToken } from './oauth/token-endpoint.ts';
import { type Answer, html, RefusedError } from './state/answer.ts';
import type { EndpointName } from './state/faults.ts';
import type { PartnerAccount } from './state/partner-account.ts';
import type { World } from './state/world.ts';

type PartnerHandler = (world: World, account: PartnerAccount, request: ServiceRequest) => Answer;

const partnerHandlers: Readonly<Record<Exclude<EndpointName, 'token' | 'authorize'>, PartnerHandler>> = {
  feed: serveFeed,
  advert: serveAdvert,
  adverts: serveAdverts,
  'create-advert': createAdvert,
  threads: serveThreads,
};

/** The paths of the document, most requested first. Any single path segment counts as an ID, digits or not. */
const routes: readonly (readonly [path: RegExp, endpoints: Readonly<Record<string, EndpointName>>])[] = [
  [/^\/api\/partner\/adverts\/([^/]+)$/, { GET: 'advert' }],
  [/^\/api\/partner\/status\/adverts$/, { GET: 'feed' }],
  [/^\/api\/partner\/adverts$/, { GET: 'adverts', POST: 'create-advert' }],
  [/^\/api\/partner\/threads$/, { GET: 'threads' }],
  [/^\/api\/open\/oauth\/token$/, { POST: 'token' }],
  [/^\/oauth\/authorize\/?$/, { GET: 'authorize', POST: 'authorize' }],
];

/** Finds the endpoint of a request. */
export function findTarget(
  method: string,
  path: string,
): Pick<ServiceRequest, 'endpoint' | 'advertId' | 'methods'> {
  for (const [pattern, endpoints] of routes) {
    const match = pattern.exec(path);
    if (match === null) continue;
    const methods = Object.keys(endpoints);
    return { endpoint: endpoints[method] ?? null, advertId: match[1] ?? null, methods };
  }
  return { endpoint: null, advertId: null, methods: [] };
}

/**
 * Answers a request according to the document.
 * @throws {RefusedError}
 * @see partner-api.md §4
 */
export function answerRequest(world: World, request: ServiceRequest): Answer {
  const { endpoint, methods } = request;
  // Assumed: the web server answers an unknown path before the service does, so not in the service's error shape.
  if (methods.length === 0) return html(404, '<html><body><h1>404 Not Found</h1></body></html>');
  if (endpoint === null) {
    const error = { status: 405, code: 'method_not_allowed', message: 'Not with this method.' };
    throw new RefusedError('notFound', error, { allow: methods.join(', ') });
  }
  if (request.body === undefined) {
    throw new RefusedError('notFound', { status: 413, code: 'too_large', message: 'The body is too long.' });
  }
  if (endpoint === 'authorize') return serveAuthorize(world, request);
  if (endpoint === 'token') return serveToken(world, request);
  return partnerHandlers[endpoint](world, admit(world, request), request);
}

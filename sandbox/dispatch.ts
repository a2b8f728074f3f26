import { admit, checkVersion } from './api/access.ts';
import { createAdvert, serveAdvert, serveAdverts, serveThreads } from './api/adverts.ts';
import { serveFeed } from './api/feed.ts';
import { errorAnswer } from './http/errors.ts';
import type { ServiceRequest } from './http/request.ts';
import { serveAuthorize } from './oauth/authorize.ts';
import { serveToken } from './oauth/token-endpoint.ts';
import type { Answer } from './state/answer.ts';
import type { EndpointName } from './state/faults.ts';
import type { PartnerAccount } from './state/partner-account.ts';
import type { World } from './state/world.ts';

type PartnerHandler = (world: World, account: PartnerAccount, request: ServiceRequest) => Answer;

const partnerHandlers: Partial<Record<EndpointName, PartnerHandler>> = {
  feed: serveFeed,
  advert: serveAdvert,
  adverts: serveAdverts,
  'create-advert': createAdvert,
  threads: serveThreads,
  'order-feed': (world, account, request) => serveFeed(world, account.orders, request),
  order: (world, account, request) => serveAdvert(world, account.orders, request),
};

interface Route {
  readonly pattern: RegExp;
  readonly methods: Readonly<Record<string, EndpointName>>;
}

const routes: readonly Route[] = [
  // The advert comes first because it is requested most often. Any single path segment, digits or not, counts as an
  // ID.
  { pattern: /^\/api\/partner\/adverts\/([^/]+)$/, methods: { GET: 'advert' } },
  { pattern: /^\/api\/partner\/status\/adverts$/, methods: { GET: 'feed' } },
  { pattern: /^\/api\/partner\/adverts$/, methods: { GET: 'adverts', POST: 'create-advert' } },
  // Assumed: the document announces an orders feed, but does not describe it.
  { pattern: /^\/api\/partner\/orders\/([^/]+)$/, methods: { GET: 'order' } },
  { pattern: /^\/api\/partner\/status\/orders$/, methods: { GET: 'order-feed' } },
  { pattern: /^\/api\/partner\/threads$/, methods: { GET: 'threads' } },
  { pattern: /^\/api\/open\/oauth\/token$/, methods: { POST: 'token' } },
  { pattern: /^\/oauth\/authorize\/?$/, methods: { GET: 'authorize', POST: 'authorize' } },
];

export interface Target {
  /** Null: the path is unknown, or supports only other methods. */
  readonly endpoint: EndpointName | null;
  readonly advertId: string | null;
  /** The supported methods of a known path. */
  readonly methods: readonly string[];
}

/** Finds the endpoint of a request. */
export function findTarget(method: string, path: string): Target {
  for (const { pattern, methods } of routes) {
    const match = pattern.exec(path);
    if (match === null) continue;
    return { endpoint: methods[method] ?? null, advertId: match[1] ?? null, methods: Object.keys(methods) };
  }
  return { endpoint: null, advertId: null, methods: [] };
}

/**
 * Answers a request according to the document.
 * @see partner-api.md §4
 */
export function answerRequest(world: World, request: ServiceRequest, target: Target): Answer {
  if (request.endpoint === null) return notServed(world, target);
  if (request.endpoint === 'authorize') return serveAuthorize(world, request);
  if (request.endpoint === 'token') {
    const refused = world.settings.assumptions.tokenEndpointNeedsVersion
      ? checkVersion(world, request)
      : undefined;
    return refused ?? serveToken(world, request);
  }
  const admitted = admit(world, request);
  if ('body' in admitted) return admitted;
  const handler = partnerHandlers[request.endpoint];
  if (handler === undefined) throw new Error(`no handler for ${request.endpoint}`);
  return handler(world, admitted, request);
}

/** Assumed: the web server answers an unknown path before the service does, so not in the service's error shape. */
function notServed(world: World, target: Target): Answer {
  if (target.methods.length === 0) {
    const body = '<html><head><title>404 Not Found</title></head><body><h1>404 Not Found</h1></body></html>';
    return { status: 404, body, headers: { 'content-type': 'text/html' } };
  }
  const shape = world.settings.assumptions.errorShapes.notFound;
  const refusal = errorAnswer(shape, {
    status: 405,
    code: 'method_not_allowed',
    message: 'Not with this method.',
  });
  return { ...refusal, headers: { allow: target.methods.join(', ') } };
}

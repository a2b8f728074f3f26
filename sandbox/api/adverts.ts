import { jsonFields, parameter, type ServiceRequest } from '../http/request.ts';
import { type Answer, answerWith, invalid, notThere } from '../state/answer.ts';
import { type Advert, addAdvert, type PartnerAccount, presentAdverts, type World } from '../state/world.ts';

/** GET /api/partner/adverts/{id}. Unknown, removed and foreign adverts: 404 (assumed). @see partner-api.md §2.2, §4.3 */
export function serveAdvert(world: World, account: PartnerAccount, { advertId }: ServiceRequest): Answer {
  const advert = world.adverts.get(advertId ?? '');
  if (advert?.user === account.name) {
    const status = servedStatus(world, advert);
    if (status !== null) return answerWith(200, `{"data":${advertJson({ ...advert, status })}}`);
  }
  throw notThere(404, 'not_found', 'There is no such advert.');
}

/** The status that a replica knows which is behind the feed (assumed). */
function servedStatus({ settings, clock }: World, { status, history }: Advert): string | null {
  const { advertLagMs } = settings.assumptions;
  if (advertLagMs === 0) return status;
  const knownMs = clock.now() - settings.visibilityDelayMs - advertLagMs;
  return (history.findLast(({ atMs }) => atMs <= knownMs) ?? history[0])?.status ?? null;
}

/**
 * GET /api/partner/adverts: the user's adverts, including inactive ones, in pages. Paging and shape are assumed.
 * @see partner-api.md §4.2
 */
export function serveAdverts(world: World, account: PartnerAccount, request: ServiceRequest): Answer {
  const paging = world.settings.assumptions.listPaging;
  const firstPosition = paging.style === 'page' ? 1 : 0;
  const limit = wholeParameter(request, paging.limitParameter, paging.defaultLimit, 1);
  const position = wholeParameter(request, paging.positionParameter, firstPosition, firstPosition);

  const size = Math.min(limit, paging.maximumLimit);
  const start = paging.style === 'page' ? (position - 1) * size : position;
  const listed = presentAdverts(world, account).slice(start, start + size);
  return answerWith(200, `{"data":[${listed.map(advertJson).join(',')}]}`);
}

/**
 * POST /api/partner/adverts: creates an advert from any JSON object, of which only `title` and `price` are used.
 * Fields and answer are assumed.
 * @see partner-api.md §4.4
 */
export function createAdvert(world: World, account: PartnerAccount, request: ServiceRequest): Answer {
  const fields = jsonFields(request);
  if (fields === undefined) throw invalid('body');
  const { title, price } = fields;
  if (title !== undefined && typeof title !== 'string') throw invalid('title');
  if (price !== undefined && typeof price !== 'number') throw invalid('price');
  const advert = addAdvert(world, account, { status: 'new', title, price });
  return answerWith(200, `{"data":${advertJson(advert)}}`);
}

/** GET /api/partner/threads: always empty, because nobody writes to the sandbox's users. Shape assumed. @see §4.5 */
export function serveThreads(): Answer {
  return answerWith(200, { data: [] });
}

/** Does not use JSON.stringify: an ID is a number in the answer, and JavaScript has no exact integers beyond 2^53. */
function advertJson({ id, status, title, price }: Advert): string {
  return `{"id":${id},"status":${JSON.stringify(status)},"title":${JSON.stringify(title)},"price":${price}}`;
}

function wholeParameter(request: ServiceRequest, name: string, fallback: number, minimum: number): number {
  const text = parameter(request, name) ?? String(fallback);
  if (!/^\d{1,9}$/.test(text) || Number(text) < minimum) throw invalid(name);
  return Number(text);
}

import { jsonFields, parameter, type ServiceRequest } from '../http/request.ts';
import { type Answer, invalid, json, RefusedError } from '../state/answer.ts';
import type { Advert, PartnerAccount } from '../state/partner-account.ts';
import { addAdvert, type World } from '../state/world.ts';

/**
 * GET /api/partner/adverts/{id}. Unknown and foreign adverts: 404; removed ones 404 or 410 (all assumed).
 * @see partner-api.md §2.2, §4.3
 */
export function serveAdvert(world: World, account: PartnerAccount, { advertId }: ServiceRequest): Answer {
  const advert = account.adverts.get(advertId ?? '');
  if (advert !== undefined && advert.status !== null)
    return { status: 200, body: `{"data":${advertJson(advert)}}` };
  const status = advert === undefined ? 404 : world.settings.assumptions.removedAdvertStatus;
  throw new RefusedError('notFound', { status, code: 'not_found', message: 'There is no such advert.' });
}

/**
 * GET /api/partner/adverts: the user's adverts, including inactive ones, in pages. Paging and shape are assumed.
 * @see partner-api.md §4.2
 */
export function serveAdverts(world: World, account: PartnerAccount, request: ServiceRequest): Answer {
  const paging = world.settings.assumptions.listPaging;
  const firstPosition = paging.style === 'page' ? 1 : 0;
  const limit = wholeNumber(request, paging.limitParameter, paging.defaultLimit, 1);
  const position = wholeNumber(request, paging.positionParameter, firstPosition, firstPosition);

  const size = Math.min(limit, paging.maximumLimit);
  const start = paging.style === 'page' ? (position - 1) * size : position;
  const listed = account.inOrder.filter((advert) => advert.status !== null).slice(start, start + size);
  return { status: 200, body: `{"data":[${listed.map(advertJson).join(',')}]}` };
}

/**
 * POST /api/partner/adverts: creates an advert from any JSON object, of which only `title` and `price` are used.
 * Fields and answer are assumed.
 * @see partner-api.md §4.4
 */
export function createAdvert(world: World, account: PartnerAccount, request: ServiceRequest): Answer {
  const fields = jsonFields(request);
  if (fields === undefined) throw invalid('body', 'is not a JSON object');
  const { title, price } = fields;
  if (title !== undefined && typeof title !== 'string') throw invalid('title');
  if (price !== undefined && typeof price !== 'number') throw invalid('price');
  const { status, answerStatus } = world.settings.assumptions.createdAdvert;
  const advert = addAdvert(world, account, { status, title, price });
  return { status: answerStatus, body: `{"data":${advertJson(advert)}}` };
}

/** GET /api/partner/threads: always empty, because nobody writes to the sandbox's users. Shape assumed. @see §4.5 */
export function serveThreads(): Answer {
  return json(200, { data: [] });
}

/** Does not use JSON.stringify: an ID is a number in the answer, and JavaScript has no exact integers beyond 2^53. */
function advertJson({ id, status, title, price }: Advert): string {
  return `{"id":${id},"status":${JSON.stringify(status)},"title":${JSON.stringify(title)},"price":${price}}`;
}

function wholeNumber(request: ServiceRequest, name: string, fallback: number, minimum: number): number {
  const text = parameter(request, name) ?? String(fallback);
  if (!/^\d{1,9}$/.test(text) || Number(text) < minimum) throw invalid(name);
  return Number(text);
}

import { errorAnswer } from '../http/errors.ts';
import { isJson, jsonObject, type ServiceRequest, single } from '../http/request.ts';
import { type Answer, json } from '../state/answer.ts';
import type { Advert, PartnerAccount } from '../state/partner-account.ts';
import { addAdvert, type World } from '../state/world.ts';

/**
 * GET /api/partner/adverts/{id}. Unknown and foreign adverts: 404; removed ones 404 or 410 (all assumed).
 * @see partner-api.md §2.2, §4.3
 */
export function serveAdvert(world: World, account: PartnerAccount, request: ServiceRequest): Answer {
  const advert = account.adverts.get(request.advertId ?? '');
  if (advert !== undefined && advert.status !== null)
    return { status: 200, body: `{"data":${advertJson(advert)}}` };
  const { errorShapes, removedAdvertStatus } = world.settings.assumptions;
  const status = advert === undefined ? 404 : removedAdvertStatus;
  return errorAnswer(errorShapes.notFound, {
    status,
    code: 'not_found',
    message: 'There is no such advert.',
  });
}

/**
 * GET /api/partner/adverts: the user's adverts, including inactive ones, in pages. Paging and shape are assumed.
 * @see partner-api.md §4.2
 */
export function serveAdverts(world: World, account: PartnerAccount, request: ServiceRequest): Answer {
  const paging = world.settings.assumptions.listPaging;
  const byPage = paging.style === 'page';
  const limit = wholeNumber(request, paging.limitParameter, paging.defaultLimit, 1);
  if (limit === undefined) return invalid(world, paging.limitParameter);
  const position = wholeNumber(request, paging.positionParameter, byPage ? 1 : 0, byPage ? 1 : 0);
  if (position === undefined) return invalid(world, paging.positionParameter);

  const size = Math.min(limit, paging.maximumLimit);
  const start = byPage ? (position - 1) * size : position;
  const known =
    account.removedCount === 0 ? account.inOrder : account.inOrder.filter((advert) => advert.status !== null);
  const data = known
    .slice(start, start + size)
    .map(advertJson)
    .join(',');
  return { status: 200, body: `{"data":[${data}]}` };
}

/**
 * POST /api/partner/adverts: creates an advert from any JSON object, of which only `title` and `price` are used.
 * Fields and answer are assumed.
 * @see partner-api.md §4.4
 */
export function createAdvert(world: World, account: PartnerAccount, request: ServiceRequest): Answer {
  if (!isJson(request.headers)) return invalid(world, 'Content-Type');
  const fields = jsonObject(request.body);
  if (fields === undefined) return invalid(world, 'body');
  const { title, price } = fields;
  if (title !== undefined && typeof title !== 'string') return invalid(world, 'title');
  if (price !== undefined && typeof price !== 'number') return invalid(world, 'price');
  const { status, answerStatus } = world.settings.assumptions.createdAdvert;
  const advert = addAdvert(world, account, {
    status,
    ...(title === undefined ? {} : { title }),
    ...(price === undefined ? {} : { price }),
  });
  return { status: answerStatus, body: `{"data":${advertJson(advert)}}` };
}

/**
 * GET /api/partner/threads: always empty, because nobody writes to the sandbox's users. Shape assumed.
 *
 * @see partner-api.md §4.5
 */
export function serveThreads(): Answer {
  return json(200, { data: [] });
}

/** Does not use JSON.stringify: an ID is a number in the answer, and JavaScript has no exact integers beyond 2^53. */
function advertJson({ id, status, title, price }: Advert): string {
  return `{"id":${id},"status":${JSON.stringify(status)},"title":${JSON.stringify(title)},"price":${price}}`;
}

function wholeNumber(
  request: ServiceRequest,
  name: string,
  defaultValue: number,
  minimum: number,
): number | undefined {
  const text = single(request.query, name);
  if (text === undefined) return defaultValue;
  return text !== null && /^\d{1,9}$/.test(text) && Number(text) >= minimum ? Number(text) : undefined;
}

function invalid(world: World, field: string): Answer {
  const message = `The parameter ${field} is not valid.`;
  const shape = world.settings.assumptions.errorShapes.validation;
  return errorAnswer(shape, { status: 400, code: 'validation_error', message, field });
}

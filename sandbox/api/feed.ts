import { createHmac } from 'node:crypto';
import { parameter, type ServiceRequest } from '../http/request.ts';
import { type Answer, answerWith, invalid } from '../state/answer.ts';
import { type PartnerAccount, positionAfter, type World } from '../state/world.ts';

const defaultLimit = 100;
const maximumLimit = 1000;

/**
 * GET /api/partner/status/adverts: one page of the change feed.
 * @throws {RefusedError} 400 `validation_error` whose message names the parameter
 * @see partner-api.md §2.1, §4.1, §7, §8
 */
export function serveFeed(world: World, account: PartnerAccount, request: ServiceRequest): Answer {
  const { clock, settings } = world;
  const since = parameter(request, 'since');
  if (since === undefined) throw invalid('since');
  const sinceMs = parseSince(since);
  const limit = settings.assumptions.feedPageSize ?? readLimit(parameter(request, 'limit'));
  const cursor = parameter(request, 'cursor');
  const start =
    cursor === undefined ? positionAfter(account, sinceMs) : account.cursors.get(`${since} ${cursor}`);
  if (start === undefined) {
    const { status, body } = settings.assumptions.cursorRejection;
    return answerWith(status, body);
  }

  const visibleEnd = Math.max(start, positionAfter(account, clock.now() - settings.visibilityDelayMs));
  const end = Math.min(visibleEnd, start + limit);
  // Opaque and bound to its user and `since`. The same position has the same cursor.
  const place = `${account.name} ${since} ${end}`;
  const nextCursor = createHmac('sha256', world.cursorKey).update(place).digest('base64url');
  account.cursors.set(`${since} ${nextCursor}`, end);
  const data = account.changes.slice(start, end).map(({ id }) => id);
  return answerWith(200, { data, hasMore: end < visibleEnd, nextCursor });
}

/** Assumed (§8): a limit below 1 or not a whole number is rejected. */
function readLimit(text = String(defaultLimit)): number {
  if (/^\d+$/.test(text) && Number(text) >= 1) return Math.min(Number(text), maximumLimit);
  throw invalid('limit', 'The parameter limit is not a whole number of at least 1.');
}

const dateTime = /^(\d{4}-\d{2}-\d{2})(T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?)(Z|[+-]\d{2}:?\d{2})$/;

/**
 * Reads an ISO 8601 date-time with a time zone. Digits beyond milliseconds are ignored; this does not affect
 * "strictly after", because changes are recorded in whole milliseconds.
 * @returns milliseconds since 1970
 */
function parseSince(text: string): number {
  const [, date = '', time = '', zone = ''] = dateTime.exec(text) ?? [];
  const colonZone = zone.replace(/(\d{2})(\d{2})$/, '$1:$2');
  const sinceMs = Date.parse(`${date}${time}${colonZone}`);
  // Date.parse converts 30 February to March, and 24:00 to the next day; both are errors of the caller.
  const local = new Date(Date.parse(`${date}${time}Z`));
  if (Number.isNaN(sinceMs) || !local.toISOString().startsWith(date)) {
    throw invalid('since', 'The parameter since is not an ISO 8601 date-time with a timezone.');
  }
  return sinceMs;
}

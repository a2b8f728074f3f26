import { errorAnswer } from '../http/errors.ts';
import { type ServiceRequest, single } from '../http/request.ts';
import type { Answer } from '../state/answer.ts';
import type { Bookmark } from '../state/cursor.ts';
import type { PartnerAccount } from '../state/partner-account.ts';
import { parseSince } from '../state/since.ts';
import type { World } from '../state/world.ts';

const defaultLimit = 100;
const maximumLimit = 1000;

/**
 * GET /api/partner/status/adverts: one page of the change feed.
 * @returns 200 `{data, hasMore, nextCursor}`, or 400 `validation_error` whose message names the parameter
 * @see partner-api.md §2.1, §4.1, §7, §8
 */
export function serveFeed(world: World, account: PartnerAccount, request: ServiceRequest): Answer {
  const { settings, clock } = world;
  const since = single(request.query, 'since');
  const sinceMs = typeof since === 'string' ? parseSince(since) : undefined;
  if (typeof since !== 'string') return invalid(world, 'since', 'is required, once');
  if (sinceMs === undefined) return invalid(world, 'since', 'is not an ISO 8601 date-time with a timezone');
  const limit = readLimit(world, single(request.query, 'limit'));
  if (limit === undefined) return invalid(world, 'limit', 'is not a whole number of at least 1');
  const cursor = single(request.query, 'cursor');
  if (cursor === null) return invalid(world, 'cursor', 'was sent more than once');

  const oldestMs =
    settings.retentionSeconds === null
      ? Number.NEGATIVE_INFINITY
      : clock.now() - settings.retentionSeconds * 1000;
  const sinceCounts = cursor === undefined || settings.assumptions.sinceBeforeRetention === 'rejected-always';
  if (sinceCounts && sinceMs < oldestMs)
    return invalid(world, 'since', 'is older than the changes that the feed keeps');

  const binding = { partnerAccount: account.name, since, epoch: account.cursorEpoch };
  const bookmark: Bookmark | undefined =
    cursor === undefined
      ? { position: account.positionAfter(sinceMs), serial: 0 }
      : world.cursors.decode(binding, withoutEnding(cursor, cursorEnding(world)));
  // A cursor is valid until the retention deletes a change that it has not passed.
  if (bookmark === undefined || (account.changedAtMs(bookmark.position) ?? oldestMs) < oldestMs) {
    return rejectedCursor(world);
  }

  const visibleEnd = Math.max(
    bookmark.position,
    account.positionAfter(clock.now() - settings.visibilityDelayMs),
  );
  const end = Math.min(visibleEnd, bookmark.position + limit);
  const ids = account.idsBetween(bookmark.position, end);
  if (settings.assumptions.cursorChangesOnEmptyPage) world.cursorSerial += 1;
  const nextCursor =
    world.cursors.encode(binding, { position: end, serial: world.cursorSerial }) + cursorEnding(world);
  // Built without JSON.stringify for speed: only a deliberately malformed ID needs escaping.
  const data = ids.map((id) => (/^\d+$/.test(id) ? `"${id}"` : JSON.stringify(id))).join(',');
  return {
    status: 200,
    body: `{"data":[${data}],"hasMore":${end < visibleEnd},"nextCursor":"${nextCursor}"}`,
  };
}

function readLimit(world: World, text: string | undefined | null): number | undefined {
  if (text === undefined) return defaultLimit;
  if (text !== null && /^\d+$/.test(text) && Number(text) >= 1) return Math.min(Number(text), maximumLimit);
  return world.settings.assumptions.badLimit === 'default' ? defaultLimit : undefined;
}

function invalid(world: World, field: string, what: string): Answer {
  const message = `The parameter ${field} ${what}.`;
  const shape = world.settings.assumptions.errorShapes.validation;
  return errorAnswer(shape, { status: 400, code: 'validation_error', message, field });
}

function cursorEnding(world: World): string {
  return world.settings.assumptions.cursorAlphabet === 'reserved' ? '+/=&%2B' : '';
}

function withoutEnding(text: string, ending: string): string {
  return text.endsWith(ending) ? text.slice(0, text.length - ending.length) : '';
}

function rejectedCursor(world: World): Answer {
  const { status, body } = world.settings.assumptions.cursorRejection;
  return { status, body: typeof body === 'string' ? body : JSON.stringify(body) };
}

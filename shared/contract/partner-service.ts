/**
 * What the partner service answers.
 *
 * @see docs/partner-api.md
 */
import * as v from 'valibot';
import { status } from './checks.ts';

/** It goes back in the request's line, of which servers take some 8 KB; and it is stored with each page. */
const maxCursorBytes = 4_096;
const cursor = v.pipe(
  v.string(),
  v.minLength(1, 'expected a non-empty string'),
  v.check((text) => text.isWellFormed(), 'expected well-formed text, which can be sent back'),
  v.maxBytes(maxCursorBytes, `expected at most ${maxCursorBytes} bytes`),
);

/** Whether a stored cursor can be sent: it may have been edited by hand, or come from an older bridge. */
export const isCursor = (text: string): boolean => v.is(cursor, text);

/**
 * A page of the change feed. The IDs are not checked here: a page with one bad ID is still a page, and
 * the drain dead-letters just that ID. Unknown fields are ignored, here and below.
 */
export const feedPage = v.object({
  data: v.array(v.unknown()),
  hasMore: v.boolean(),
  nextCursor: cursor,
});
export type FeedPage = v.InferOutput<typeof feedPage>;

/** An advert, of which only what the bridge needs is checked. */
export const advert = v.object({
  data: v.object({
    id: v.union([v.pipe(v.number(), v.integer()), v.pipe(v.string(), v.digits())], 'expected an integer'),
    status,
  }),
});

/** Seconds, as a number or a numeric string: services of this kind are known to send either. */
const seconds = v.pipe(
  v.union([
    v.number(),
    v.pipe(v.string(), v.regex(/^\s*\d{1,10}(\.\d+)?\s*$/, 'expected seconds'), v.transform(Number)),
  ]),
  // A token that the service returns again in its last second has 0 left.
  v.minValue(0, 'expected 0 or more seconds'),
  v.maxValue(1e10),
);

/** What may stand in an HTTP header. */
const accessToken = v.pipe(
  v.string(),
  v.regex(/^[\x21-\x7e]{1,8192}$/, 'expected 1 to 8192 visible ASCII characters'),
);

/** Sent only inside JSON, so it may be any text that comes back from a store as it went in. */
const refreshToken = v.pipe(
  v.string(),
  v.maxLength(8192, 'expected 1 to 8192 characters'),
  v.check((text) => text.trim() !== '' && text.isWellFormed(), 'expected 1 to 8192 characters'),
  v.check(fitsSecret, 'expected at most 16384 bytes in JSON'),
);

/** A secret of Secrets Manager has 64 KB, for both tokens and a scope, as JSON, where a character may take six bytes. */
function fitsSecret(text: string): boolean {
  return Buffer.byteLength(JSON.stringify(text)) <= 16_384;
}

/** RFC 6749 §3.3, with any number of spaces, for it is shown to people: nothing that a terminal would act upon. */
const scope = v.pipe(
  v.string(),
  v.maxLength(1024, 'expected at most 1024 characters'),
  v.regex(/^ *[\x21\x23-\x5b\x5d-\x7e]+( +[\x21\x23-\x5b\x5d-\x7e]+)* *$/, 'expected scopes'),
);

/**
 * An answer of the token endpoint. A fault in one field may not cost a new refresh token that stands beside it,
 * so each field that is missing or makes no sense is `undefined`: then what was before stays.
 */
export const tokenAnswer = v.object({
  access_token: v.fallback(v.optional(accessToken), undefined),
  expires_in: v.fallback(v.optional(seconds), undefined),
  token_type: v.fallback(v.optional(v.pipe(v.string(), v.maxLength(100), v.toLowerCase())), undefined),
  scope: v.fallback(v.optional(scope), undefined),
  refresh_token: v.fallback(v.optional(refreshToken), undefined),
});
export type TokenAnswer = v.InferOutput<typeof tokenAnswer>;

/** What is wrong in a field that need not be there costs that field only: the code beside it still counts. */
const text = v.fallback(v.optional(v.string()), undefined);
const flaw = v.object({
  field: v.optional(v.string()),
  title: v.optional(v.string()),
  detail: v.optional(v.string()),
});
const problem = v.object({
  status: v.fallback(v.optional(v.union([v.number(), v.string()])), undefined),
  title: text,
  detail: text,
  type: text,
  code: text,
  message: text,
  validation: v.fallback(v.optional(v.array(flaw)), undefined),
});
export type Problem = v.InferOutput<typeof problem>;

/**
 * The error bodies known for services of this kind; docs/partner-api.md shows only the code and the message. They are told
 * apart by shape, the first that fits wins.
 */
export const errorBodies = {
  /** `{"data":{"error":{…}}}` */
  nested: v.object({ data: v.object({ error: problem }) }),
  /** `{"error":{"status","title","detail","validation"}}` and `{"error":{"type","message"}}` */
  problem: v.object({ error: problem }),
  /** `{"error":"invalid_grant","error_description":"…"}` and `{"error":"validation_error","message":"…"}` */
  oauth: v.object({ error: v.string(), error_description: text, message: text }),
  /** `{"code":"validation_error","message":"…"}` */
  coded: v.object({ code: v.string(), message: text }),
} as const;

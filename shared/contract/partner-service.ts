/** Schemas of the partner service's answers. @see docs/partner-api.md */
import * as v from 'valibot';
import { status } from './checks.ts';

/** The cursor is sent in the request line, which servers limit to about 8 KB. */
const maxCursorBytes = 4_096;
const cursor = v.pipe(
  v.string(),
  v.minLength(1, 'expected a non-empty string'),
  v.check((text) => text.isWellFormed(), 'expected well-formed text, which can be sent back'),
  v.maxBytes(maxCursorBytes, `expected at most ${maxCursorBytes} bytes`),
);

/** Whether a stored cursor can be sent. It may have been edited manually, or written by an older bridge. */
export const isCursor = (text: string): boolean => v.is(cursor, text);

/** A page of the feed. The drain judges each ID on its own. Unknown fields are ignored, here and below. */
export const feedPage = v.object({
  data: v.array(v.unknown()),
  hasMore: v.boolean(),
  nextCursor: cursor,
});
export type FeedPage = v.InferOutput<typeof feedPage>;

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
  // 0 is valid: the service may return a token again in its last second.
  v.minValue(0, 'expected 0 or more seconds'),
  v.maxValue(1e10),
);

const accessToken = v.pipe(
  v.string(),
  v.regex(/^[\x21-\x7e]{1,8192}$/, 'expected 1 to 8192 visible ASCII characters'),
);

/** Sent only inside JSON, so it may be any text that every store returns unchanged. */
const refreshToken = v.pipe(
  v.string(),
  v.maxLength(8192, 'expected 1 to 8192 characters'),
  v.check((text) => text.trim() !== '' && text.isWellFormed(), 'expected 1 to 8192 characters'),
  v.check(fitsSecret, 'expected at most 16384 bytes in JSON'),
);

/** Secrets Manager takes 64 KB for two tokens and a scope, as JSON, in which a character may take six bytes. */
function fitsSecret(text: string): boolean {
  return Buffer.byteLength(JSON.stringify(text)) <= 16_384;
}

/** RFC 6749 §3.3, with any number of spaces. Shown to people, so without control characters. */
const scope = v.pipe(
  v.string(),
  v.maxLength(1024, 'expected at most 1024 characters'),
  v.regex(/^ *[\x21\x23-\x5b\x5d-\x7e]+( +[\x21\x23-\x5b\x5d-\x7e]+)* *$/, 'expected scopes'),
);

/** An answer of the token endpoint. An invalid field is `undefined`: a new refresh token beside it must not be lost. */
export const tokenAnswer = v.object({
  access_token: v.fallback(v.optional(accessToken), undefined),
  expires_in: v.fallback(v.optional(seconds), undefined),
  token_type: v.fallback(v.optional(v.pipe(v.string(), v.maxLength(100), v.toLowerCase())), undefined),
  scope: v.fallback(v.optional(scope), undefined),
  refresh_token: v.fallback(v.optional(refreshToken), undefined),
});
export type TokenAnswer = v.InferOutput<typeof tokenAnswer>;

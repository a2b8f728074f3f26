/** Parses successful answers. An answer of the wrong shape is a fault; its message names places, never contents. */
import * as v from 'valibot';
import { checked, ShapeError } from '../contract/checks.ts';
import {
  advert,
  type FeedPage,
  feedPage,
  type TokenAnswer,
  tokenAnswer,
} from '../contract/partner-service.ts';
import { PartnerError } from '../domain/faults.ts';
import type { Secret } from '../domain/secret.ts';
import type { ReceivedTokens } from '../ports/token-endpoint.ts';
import type { Answer } from './http/transport.ts';

/** The list of adverts, by ID. Assumed, because partner-api.md §4.2 shows neither its paging nor its shape. */
const advertList = v.object({ data: v.array(v.unknown()) });
export type AdvertList = v.InferOutput<typeof advertList>;

/**
 * A page of the feed.
 *
 * @param limit number of requested entries; a page must not have more
 * @throws {PartnerError} `transient`, `contract-broken`
 * @see partner-api.md §2.1
 */
export function pageIn(answer: Answer, what: string, limit: number): FeedPage {
  const page = bodyAs(feedPage, answer, what);
  const { length } = page.data;
  if (length > limit)
    throw broken(what, answer, `data: expected at most the ${limit} entries asked for, not ${length}`);
  return page;
}

/**
 * Parses the status of an advert (or other object), and returns the object as it was sent.
 *
 * @param id the requested ID, because the status of another advert must not be accepted
 * @throws {PartnerError} `transient`, `contract-broken`
 * @see partner-api.md §2.2
 */
export function advertIn(
  answer: Answer,
  id: string,
  what: string,
): { readonly status: string; readonly advert: unknown } {
  const body = parsed(answer, what);
  const { data } = checkedAs(advert, body, answer, what);
  const answered =
    Number.isSafeInteger(data.id) || typeof data.id === 'string' ? String(data.id) : longIdIn(answer);
  if (answered === id) return { status: data.status, advert: (body as { data: unknown }).data };
  throw broken(what, answer, 'data.id: expected the ID asked for');
}

/** Beyond 2^53, adjacent IDs become the same JavaScript number, so the digits are compared as sent. */
const longIdIn = (answer: Answer): unknown =>
  (exactIds(answer) as { data?: { id?: unknown } } | undefined)?.data?.id;

/** Parses the body and keeps the digits of every `id` as sent. */
function exactIds({ body = '' }: Answer): unknown {
  const digits = (key: string, value: unknown, context?: { readonly source?: string }): unknown =>
    key === 'id' && typeof value === 'number' ? (context?.source ?? value) : value;
  try {
    return JSON.parse(withoutMark(body), digits);
  } catch {
    // The body is nested too deeply for a reviver.
    return undefined;
  }
}

/**
 * Parses a token answer: an access token, a refresh token or both. A scope that repeats a secret is discarded, because
 * scopes are shown to people.
 *
 * @param secrets secrets of the request
 * @throws {PartnerError} `transient`, `contract-broken`
 * @see partner-api.md §2.3
 */
export function tokensIn(
  answer: Answer,
  what: string,
  secrets: readonly Secret[],
): Pick<ReceivedTokens, 'answer' | 'unusable'> {
  const tokens = bodyAs(tokenAnswer, answer, what);
  const { access_token: access, refresh_token: refresh, scope } = tokens;
  if (access === undefined && refresh === undefined)
    throw broken(what, answer, 'access_token: expected 1 to 8192 visible ASCII characters');
  const given = [access, refresh].filter((token) => token !== undefined);
  const unspeakable = [...secrets.map((secret) => secret.reveal()), ...given];
  const read =
    scope !== undefined && repeatsAny(scope, unspeakable) ? { ...tokens, scope: undefined } : tokens;
  const raw = parsed(answer, what) as Readonly<Record<string, unknown>>;
  const fields = Object.keys(tokenAnswer.entries) as (keyof TokenAnswer)[];
  const isThere = (field: keyof TokenAnswer) => ![undefined, null, ''].includes(raw[field] as undefined);
  return { answer: read, unusable: fields.filter((field) => read[field] === undefined && isThere(field)) };
}

/** Shorter secrets occur in any text by chance. */
const minSecretChars = 4;

/** Whether `text` contains one of the secrets, ignoring case and percent-encoding. */
function repeatsAny(text: string, secrets: readonly string[]): boolean {
  const decoded = text.replace(/%([0-9a-f]{2})/gi, (_, hex: string) =>
    String.fromCharCode(Number(`0x${hex}`)),
  );
  const forms = [text, decoded].map((form) => form.toLowerCase());
  return secrets.some(
    (secret) => secret.length >= minSecretChars && forms.some((form) => form.includes(secret.toLowerCase())),
  );
}

/** Parses the list of adverts, in its assumed shape. @see partner-api.md §4.2 */
export function listIn(answer: Answer, what: string): AdvertList {
  const { data } = bodyAs(advertList, answer, what);
  const exact = exactIds(answer) as { data?: readonly unknown[] } | undefined;
  return { data: data.map((entry, index) => idIn(exact?.data?.[index] ?? entry)) };
}

/** The ID of an entry, which may be an advert or an ID. Any other value is kept, so that it is counted as malformed. */
function idIn(entry: unknown): unknown {
  const id = typeof entry === 'object' && entry !== null ? (entry as { id?: unknown }).id : entry;
  if (typeof id === 'string') return id;
  return Number.isSafeInteger(id) ? String(id) : entry;
}

function bodyAs<S extends v.GenericSchema<unknown, unknown>>(
  schema: S,
  answer: Answer,
  what: string,
): v.InferOutput<S> {
  return checkedAs(schema, parsed(answer, what), answer, what);
}

function checkedAs<S extends v.GenericSchema<unknown, unknown>>(
  schema: S,
  value: unknown,
  answer: Answer,
  what: string,
): v.InferOutput<S> {
  try {
    return checked(schema, value, what);
  } catch (error) {
    if (!(error instanceof ShapeError)) throw error;
    throw new PartnerError('contract-broken', error.message, { status: answer.status, cause: error });
  }
}

/** Some services send a byte order mark, which is not valid JSON. */
const withoutMark = (body: string): string => (body.charCodeAt(0) === 0xfeff ? body.slice(1) : body);

function parsed(answer: Answer, what: string): unknown {
  const { body, status } = answer;
  if (body === undefined) throw broken(what, answer, 'the answer is larger than the limit');
  try {
    return JSON.parse(withoutMark(body));
  } catch {
    // The parser's error quotes the text, which may contain a token, so it is not passed on as the cause.
    throw new PartnerError('transient', `${what} answered ${status} with something that is not JSON`, {
      status,
    });
  }
}

const broken = (what: string, { status }: Answer, flaw: string) =>
  new PartnerError('contract-broken', `${what}: ${flaw}`, { status });

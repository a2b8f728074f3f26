/** Parses successful answers. An answer of the wrong shape is a fault; its message names places, never contents. */
import * as v from 'valibot';
import { advertIdPattern, checked, ShapeError } from '../contract/checks.ts';
import { pageLimit } from '../contract/messages.ts';
import {
  advert,
  type FeedPage,
  feedPage,
  type TokenAnswer,
  tokenAnswer,
} from '../contract/partner-service.ts';
import { BridgeFault } from '../domain/faults.ts';
import { repeatsSecret } from '../domain/redaction.ts';
import { Secret } from '../domain/secret.ts';
import type { ReceivedTokens } from '../ports/tokens.ts';
import { cleanText, faultOfAnswer, readErrorBody, type Sent } from './error-answers.ts';
import type { ObservedAdvert } from './readings.ts';

type Secrets = Sent['secrets'];

/** The list of adverts, by ID. Assumed, because partner-api.md §4.2 shows neither its paging nor its shape. */
const advertList = v.object({ data: v.array(v.unknown()) });
export type AdvertList = v.InferOutput<typeof advertList>;

/** A page of the feed. @throws {BridgeFault} `transient`, `contract-broken` @see partner-api.md §2.1 */
export function pageIn(sent: Sent): FeedPage {
  const page = shaped(feedPage, sent);
  const { length } = page.data;
  // Some services do not keep the `limit` of a request.
  if (length > pageLimit) throw broken(sent, `data: expected at most ${pageLimit} entries, not ${length}`);
  if (repeatsSecret(page.nextCursor, sent.secrets)) throw broken(sent, `nextCursor: ${noCredential}`);
  return { ...page, data: page.data.map((entry) => shownEntry(entry, sent.secrets)) };
}

const noCredential = 'expected no credential of the request';

/** An ID stays as it is. Anything else is shown to people, so a credential in it is removed. */
function shownEntry(entry: unknown, secrets: Secrets): unknown {
  if (Number.isSafeInteger(entry) || (typeof entry === 'string' && advertIdPattern.test(entry))) return entry;
  const text = typeof entry === 'string' ? entry : jsonOf(entry);
  return text !== undefined && repeatsSecret(text, secrets) ? cleanText(text, secrets) : entry;
}

/** Undefined if the value is nested too deeply to be written. */
function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

/** Whether a successful answer says that there is no such object: 204, `{"data":null}` or `{"data":[]}`. */
function isNothing({ answer }: Sent, body: unknown): boolean {
  if (answer.status === 204) return true;
  const { data } = (body ?? {}) as { readonly data?: unknown };
  return data === null || (Array.isArray(data) && data.length === 0);
}

/**
 * The status of an advert (or other object), and the object as it was sent. The status of another advert is refused.
 * @throws {BridgeFault} `transient`, `contract-broken`, `not-found` @see partner-api.md §2.2
 */
export function advertIn(sent: Sent, id: string): Pick<ObservedAdvert, 'status' | 'advert'> {
  const { status } = sent.answer;
  const body = status === 204 ? undefined : parsed(sent);
  if (isNothing(sent, body))
    throw new BridgeFault('not-found', `${sent.what} answered ${status} without an object`, { status });
  const { data } = shaped(advert, sent, body);
  if (repeatsSecret(data.status, sent.secrets)) throw broken(sent, `data.status: ${noCredential}`);
  if (idIn(data) !== id) throw broken(sent, 'data.id: expected the ID asked for');
  return {
    status: data.status,
    advert: () => withoutCredentials((body as { data: unknown }).data, sent.secrets),
  };
}

/** Puts a {@link Secret} in the place of each text, and of each object with a name, that repeats a secret. */
function withoutCredentials(value: unknown, secrets: Secrets): unknown {
  const text = jsonOf(value);
  // Nested so deeply that no field of it can be copied.
  if (text === undefined) return new Secret('');
  if (!repeatsSecret(text, secrets)) return value;
  return JSON.parse(text, (_name, inner: unknown) => {
    const names = typeof inner === 'object' && inner !== null ? Object.keys(inner) : [];
    const isRepeated = [inner, ...names].some(
      (one) => typeof one === 'string' && repeatsSecret(one, secrets),
    );
    return isRepeated ? new Secret('') : inner;
  });
}

/**
 * An access token, a refresh token or both. A scope that repeats a secret is discarded, because scopes are shown.
 * @throws {BridgeFault} `transient`, `contract-broken`; that of the `error` in an answer without a token
 * @see partner-api.md §2.3
 */
export function tokensIn(sent: Sent): Pick<ReceivedTokens, 'answer' | 'unusable'> {
  const raw = parsed(sent) as Readonly<Record<string, unknown>>;
  const tokens = shaped(tokenAnswer, sent, raw);
  const { access_token: access, refresh_token: refresh, scope } = tokens;
  if (access === undefined && refresh === undefined) {
    const { code } = readErrorBody(sent.answer.body);
    if (code !== undefined) throw faultOfAnswer(sent, 'token');
    throw broken(sent, 'expected an access_token of 1 to 8192 visible ASCII characters');
  }
  const given = [access, refresh].filter((token) => token !== undefined).map((token) => new Secret(token));
  const isShown = scope === undefined || !repeatsSecret(scope, [...sent.secrets, ...given]);
  const read = isShown ? tokens : { ...tokens, scope: undefined };
  const fields = Object.keys(tokenAnswer.entries) as (keyof TokenAnswer)[];
  const isThere = (field: keyof TokenAnswer) => ![undefined, null, ''].includes(raw[field] as undefined);
  return { answer: read, unusable: fields.filter((field) => read[field] === undefined && isThere(field)) };
}

/** Parses the list of adverts, in its assumed shape. @see partner-api.md §4.2 */
export function listIn(sent: Sent): AdvertList {
  const { data } = shaped(advertList, sent);
  return { data: data.map((entry) => shownEntry(idIn(entry) ?? entry, sent.secrets)) };
}

/** The ID of an entry, which may be an advert or an ID; undefined for any other value, which counts as malformed. */
function idIn(entry: unknown): string | undefined {
  const id = typeof entry === 'object' && entry !== null ? (entry as { id?: unknown }).id : entry;
  return typeof id === 'string' || Number.isSafeInteger(id) ? String(id) : undefined;
}

/** @param value the parsed body */
function shaped<S extends v.GenericSchema<unknown, unknown>>(
  schema: S,
  sent: Sent,
  value = parsed(sent),
): v.InferOutput<S> {
  try {
    return checked(schema, value, sent.what);
  } catch (error) {
    if (!(error instanceof ShapeError)) throw error;
    throw new BridgeFault('contract-broken', error.message, { status: sent.answer.status, cause: error });
  }
}

/** Beyond 2^53, adjacent IDs become the same JavaScript number, so such an ID is kept as the text that was sent. */
const exactId = (key: string, value: unknown, context?: { readonly source?: string }): unknown =>
  key === 'id' && typeof value === 'number' && !Number.isSafeInteger(value)
    ? (context?.source ?? value)
    : value;

function parsed(sent: Sent): unknown {
  const { body, status } = sent.answer;
  if (body === undefined) throw broken(sent, 'the answer is larger than the limit');
  // Some services send a byte order mark, which is not valid JSON.
  const text = body.replace(/^\ufeff/, '');
  try {
    return JSON.parse(text, /"id"\s*:\s*\d{16}/.test(text) ? exactId : undefined);
  } catch {
    // The parser's error quotes the text, which may contain a token, so it is not passed on as the cause.
    throw new BridgeFault('transient', `${sent.what} answered ${status} with something that is not JSON`, {
      status,
    });
  }
}

const broken = ({ what, answer: { status } }: Sent, flaw: string) =>
  new BridgeFault('contract-broken', `${what}: ${flaw}`, { status });

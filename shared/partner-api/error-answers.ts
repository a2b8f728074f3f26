import { parsedJson } from '../contract/checks.ts';
import { BridgeFault } from '../domain/faults.ts';
import { withoutNamedValues, withoutSecrets } from '../domain/redaction.ts';
import { redacted, type Secret } from '../domain/secret.ts';
import { decodedText } from '../domain/text.ts';
import { type BodyShape, type Endpoint, kindOf, knownCodes } from './fault-table.ts';
import { retryAfterMs } from './service-clock.ts';
import type { Answer } from './transport.ts';

/** A request that was answered. */
export interface Sent {
  /** Method and path, for messages. */
  readonly what: string;
  /** The secrets of the request, which the answer may echo: nothing that is shown or stored may contain them. */
  readonly secrets: readonly Secret[];
  readonly answer: Answer;
  /** When the attempt was sent and when its answer was complete, by the bridge's clock. */
  readonly sentAt: number;
  readonly receivedAt: number;
}

/**
 * The fault of an answer with a status other than 2xx, by fault-table.ts; of the token endpoint also with 2xx, in which
 * an error is the same as with 400. @see partner-api.md §7
 */
export function faultOfAnswer(
  { what, secrets, answer, receivedAt }: Sent,
  endpoint: Endpoint,
  maxWaitMs = Number.POSITIVE_INFINITY,
): BridgeFault {
  const { status, body } = answer;
  const { headers } = answer.head;
  const { shape, code = challenge(headers['www-authenticate']), text = '' } = readErrorBody(body);
  const kind = kindOf(endpoint, status < 300 ? 400 : status, shape, code);
  // A code may echo a secret too, so a code that cleaning would change is left out.
  const serviceCode = code !== undefined && cleanText(code, secrets) === code ? code : undefined;
  // Not behind a colon: the redaction would take the first word after `invalid_token:` for a token.
  const said = text && ` (${cleanText(text, secrets)})`;
  const asksToWait = kind === 'rate-limited' || status === 503;
  const waitMs = asksToWait ? (retryAfterMs(headers['retry-after'], headers.date, receivedAt) ?? 0) : 0;
  return new BridgeFault(kind, `${what} answered ${status}${serviceCode ? ` ${serviceCode}` : ''}${said}`, {
    status,
    serviceCode,
    retryAfterMs: Math.min(waitMs, maxWaitMs) || undefined,
    askedToWaitMs: waitMs > maxWaitMs ? waitMs : undefined,
  });
}

/** The code of `Bearer error="insufficient_scope"` (RFC 6750 §3). */
function challenge(header = ''): string | undefined {
  const code = /\berror="([a-z_]{1,64})"/.exec(header)?.[1] ?? '';
  return knownCodes.has(code) ? code : undefined;
}

/** Statuses that may mean a rejected cursor, also a long one; the document does not say which one does (§4.1 rule 7). */
const rejectionStatuses: ReadonlySet<number | undefined> = new Set([
  ...[400, 403, 404, 409, 410, 412, 414, 416, 422, 431],
]);

/**
 * Whether the fault may mean that the cursor was rejected, so that the request should be repeated once without it.
 * @see partner-api.md §4.1 rule 7
 */
export function mayBeCursorRejection(fault: BridgeFault): boolean {
  const { status, serviceCode = '' } = fault;
  return fault.mayBlame('cursor') && rejectionStatuses.has(status) && !/version/i.test(serviceCode);
}

interface ErrorBody {
  readonly shape: BodyShape;
  /** For programs, such as `invalid_token`. */
  readonly code?: string;
  /** Text for people, in any language. Not cleaned yet: clean it before you use it. */
  readonly text?: string;
}

export function readErrorBody(body: string | undefined): ErrorBody {
  const text = body?.replace(/^\ufeff/, '').trim();
  if (text === '') return { shape: 'none' };
  if (text?.startsWith('<')) return { shape: 'html' };
  const value = parsedJson(text ?? '');
  if (value === undefined) return { shape: 'other' };
  const problem = problemIn(value);
  const { title, detail, message, validation } = problem;
  // Some services put the code into the title, which is meant for people.
  const titleCode = knownCodes.has(stringOf(title).toLowerCase()) ? title : undefined;
  const code = [problem.code, problem.type, titleCode].find(isCode);
  const issues = listOf(validation).map((issue) => {
    const { field, title, detail = title } = fieldsOf(issue) ?? {};
    return [field, detail].map(stringOf).filter(Boolean).join(': ');
  });
  const parts = [...[title, detail, message].map(stringOf), ...issues].filter(
    (part) => part && part !== code,
  );
  return { shape: 'json', code, text: [...new Set(parts)].join('; ') };
}

type Fields = Readonly<Record<string, unknown>>;

const fieldsOf = (value: unknown): Fields | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : undefined;
const stringOf = (value: unknown): string => (typeof value === 'string' ? value : '');
const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const isCode = (value: unknown): value is string => /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/.test(stringOf(value));

/**
 * The fields of the error bodies that are known for services of this kind; the document shows only the code and the
 * message. `{"data":{"error":{…}}}`, `{"error":{"status","title","detail","validation"}}`, `{"error":{"type","message"}}`,
 * `{"error":"invalid_grant","error_description"}`, `{"error" or "code":"validation_error","message"}`,
 * `{"type","title","status","detail"}` (RFC 9457), `{"errors":[{"code","title","detail"}]}`, `{"message"}`.
 */
function problemIn(value: unknown): Fields {
  const body = fieldsOf(value) ?? {};
  const problem = fieldsOf(fieldsOf(body.data)?.error) ?? fieldsOf(body.error);
  if (problem) return problem;
  const { error, code = error, title, detail, type, message = body.error_description } = body;
  if ([code, title, detail, message].some((field) => typeof field === 'string'))
    // Web frameworks answer `{"status":404,"error":"Not Found","path":…}`; a real code has no spaces.
    return { code: isCode(error) ? error : code, title, detail, type, message };
  const [first] = listOf(body.errors);
  return fieldsOf(first) ?? { message: first };
}

const maxChars = 300;
/** Only this much text is processed, so that a hostile text does not take long. It is much more than is kept. */
const maxCharsRead = 4_000;
/** If the text is longer, the end of the processed part is dropped too, because it may be the beginning of a secret. */
const uncertainChars = 64;

/** Control characters and white space of every kind. */
const gaps = /[\p{Cc}\s]+/gu;
/** A run of token characters; hardly any word is this long. */
const longRun = /[\w.~+/=-]{20,}/g;

/**
 * One decoded line of at most 300 characters, without the given secrets in any encoding, and without anything else
 * that looks like a secret. The text is cut last, because a cut secret would not be recognized.
 */
export function cleanText(text: string, secrets: readonly Secret[]): string {
  const plain = decodedText(text.slice(0, maxCharsRead));
  if (plain === undefined) return redacted;
  // Decomposition may expand one character to eighteen.
  const isWhole = Math.max(text.length, plain.length) <= maxCharsRead;
  const known = isWhole ? plain : plain.slice(0, maxCharsRead).slice(0, -uncertainChars);
  const line = known.replace(gaps, ' ').trim();
  const clean = withoutNamedValues(withoutSecrets(line, secrets))
    .replace(longRun, (run) => (/\d/.test(run) && /[A-Za-z]/.test(run) ? redacted : run))
    .toWellFormed();
  if (isWhole && clean.length <= maxChars) return clean;
  return `${clean.slice(0, maxChars - 1).toWellFormed()}…`;
}

/** Turns error answers of the partner service, and missing answers, into faults. The decisions are in fault-table.ts. */
import * as v from 'valibot';
import { errorBodies, type Problem } from '../contract/partner-service.ts';
import { BridgeFault, type FaultKind } from '../domain/faults.ts';
import { withoutNamedValues, withoutSecrets } from '../domain/redaction.ts';
import { redacted, type Secret } from '../domain/secret.ts';
import { decodedText } from '../domain/text.ts';
import { type Endpoint, type ErrorBody, knownCodes, rowFor, uncoveredKind } from './fault-table.ts';
import { retryAfterMs } from './service-clock.ts';
import type { Answer, NoAnswerError } from './transport.ts';

/** The parts of the request that a fault's message may contain. */
export interface Asked {
  /** Method and path without the query, such as `GET /api/partner/adverts/123`. */
  readonly what: string;
  readonly endpoint: Endpoint;
  /** Secrets that the answer may echo, and that no message may contain. */
  readonly secrets: readonly Secret[];
}

/**
 * Returns the fault for an answer with a status other than 2xx.
 *
 * @param maxWaitMs the longest wait in the fault. Default: the maximum for Retry-After
 * @see partner-api.md §7
 */
export function faultOfAnswer(
  answer: Answer,
  asked: Asked,
  nowMs: number,
  maxWaitMs = Number.POSITIVE_INFINITY,
): BridgeFault {
  const { status, head } = answer;
  const body = withChallenge(readErrorBody(answer.body, knownCodes), head.headers['www-authenticate']);
  const kind = rowFor(asked.endpoint, status, body)?.kind ?? uncoveredKind;
  const serviceCode = harmless(body.code, asked.secrets);
  const said = body.text === undefined ? '' : cleanText(body.text, asked.secrets);
  const asksToWait = kind === 'rate-limited' || status === 503;
  const waitMs = asksToWait ? retryAfterMs(head.headers['retry-after'], head.headers.date, nowMs) : undefined;
  const message = `${asked.what} answered ${status}${serviceCode ? ` ${serviceCode}` : ''}${said ? `: ${said}` : ''}`;
  return new BridgeFault(kind, message, {
    status,
    ...(serviceCode === undefined ? {} : { serviceCode }),
    ...(waitMs === undefined ? {} : { retryAfterMs: Math.min(waitMs, maxWaitMs) }),
    ...(waitMs === undefined || waitMs <= maxWaitMs ? {} : { askedToWaitMs: waitMs }),
  });
}

/** If the body has no code, the header may have one: `Bearer error="insufficient_scope"` (RFC 6750 §3). */
function withChallenge(body: ErrorBody, header: string | undefined): ErrorBody {
  if (body.code !== undefined || header === undefined) return body;
  const code = /\berror="([a-z_]{1,64})"/.exec(header)?.[1];
  return code !== undefined && knownCodes.has(code) ? { ...body, code } : body;
}

/** A code may echo a secret too, so a code that cleaning would change is left out. */
const harmless = (code: string | undefined, secrets: readonly Secret[]): string | undefined =>
  code !== undefined && cleanText(code, secrets) === code ? code : undefined;

/** Returns the fault for a request without an answer, which is always transient. */
export function faultOfSilence(error: NoAnswerError, what: string): BridgeFault {
  const code = (error.cause as NodeJS.ErrnoException | undefined)?.code;
  return new BridgeFault('transient', `${what}: ${error.message}${code ? ` (${code})` : ''}`, {
    cause: error,
  });
}

/** Statuses that may mean a rejected cursor; the document does not say which one does (§4.1 rule 7). */
const rejectionStatuses: ReadonlySet<number | undefined> = new Set([400, 403, 404, 409, 410, 422]);
/** Faults with these statuses whose known meaning is not a rejected cursor. */
const otherMeanings: ReadonlySet<FaultKind> = new Set<FaultKind>([
  'token-rejected',
  'scope-insufficient',
  'rate-limited',
  'paused',
]);

/**
 * Whether the fault of a feed request with a cursor may mean that the cursor was rejected, so that the request should
 * be repeated once without it.
 *
 * @see partner-api.md §4.1 rule 7
 */
export function mayBeCursorRejection({ status, code, serviceCode = '' }: BridgeFault): boolean {
  return rejectionStatuses.has(status) && !otherMeanings.has(code) && !/version/i.test(serviceCode);
}

/**
 * @param knownCodes some services put the code into the title, which is meant for people; a title counts as a code only
 * if it is one of these
 */
export function readErrorBody(body: string | undefined, knownCodes: ReadonlySet<string>): ErrorBody {
  const text = body?.replace(/^\ufeff/, '').trim();
  if (!text) return { shape: 'none' };
  if (text.startsWith('<')) return { shape: 'html' };
  const problem = problemIn(parsed(text));
  if (!problem) return { shape: 'other' };
  const titleCode = knownCodes.has(problem.title?.toLowerCase() ?? '') ? problem.title : undefined;
  const code = [problem.code, problem.type, titleCode].find(isCode);
  const said = sentence(problem, code);
  return {
    shape: 'own',
    ...(code === undefined ? {} : { code }),
    ...(said === '' ? {} : { text: said }),
  };
}

/** Null fields count as absent, which is what many services mean. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text, (_key, value) => (value === null ? undefined : value));
  } catch {
    return undefined;
  }
}

function problemIn(value: unknown): Partial<Problem> | undefined {
  const problem = fit(errorBodies.nested, value)?.data.error ?? fit(errorBodies.problem, value)?.error;
  if (problem) return isEmpty(problem) ? undefined : problem;
  const oauth = fit(errorBodies.oauth, value);
  // Web frameworks answer `{"status":404,"error":"Not Found","path":…}`; a real code has no spaces.
  if (oauth) {
    const { error: code, error_description, message } = oauth;
    return isCode(code) ? { code, message: error_description ?? message } : undefined;
  }
  const coded = fit(errorBodies.coded, value);
  return coded && isCode(coded.code) ? coded : undefined;
}

function fit<S extends v.GenericSchema>(schema: S, value: unknown): v.InferOutput<S> | undefined {
  const result = v.safeParse(schema, value);
  return result.success ? result.output : undefined;
}

const isEmpty = ({ validation = [], ...fields }: Problem): boolean =>
  validation.length === 0 && Object.values(fields).every((field) => field === undefined);

const isCode = (text: string | undefined): text is string =>
  text !== undefined && /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/.test(text);

function sentence(
  { title, detail, message, validation = [] }: Partial<Problem>,
  code: string | undefined,
): string {
  const flaws = validation.map((flaw) => [flaw.field, flaw.detail ?? flaw.title].filter(Boolean).join(': '));
  const parts = [title, detail, message, ...flaws].filter((part) => part && part !== code);
  return [...new Set(parts)].join('; ');
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

const withoutTokens = (text: string): string =>
  text.replace(longRun, (run) => (/\d/.test(run) && /[A-Za-z]/.test(run) ? redacted : run));

/**
 * Returns one decoded line of at most 300 characters, without the given secrets in any encoding, and without anything
 * else that looks like a secret. The text is cut last, because a cut secret would not be recognized.
 *
 * @param secrets secrets of the request
 */
export function cleanText(text: string, secrets: readonly Secret[]): string {
  const plain = decodedText(text.slice(0, maxCharsRead));
  if (plain === undefined) return redacted;
  // Decomposition may expand one character to eighteen.
  const isWhole = Math.max(text.length, plain.length) <= maxCharsRead;
  const known = isWhole ? plain : plain.slice(0, maxCharsRead).slice(0, -uncertainChars);
  const line = known.replace(gaps, ' ').trim();
  const clean = withoutTokens(withoutNamedValues(withoutSecrets(line, secrets))).toWellFormed();
  if (isWhole && clean.length <= maxChars) return clean;
  return `${clean.slice(0, maxChars - 1).toWellFormed()}…`;
}

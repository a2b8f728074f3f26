/** Turns error answers of the partner service, and missing answers, into faults. The decisions are in fault-table.ts. */
import { type FaultKind, PartnerError } from '../../domain/faults.ts';
import type { Secret } from '../../domain/secret.ts';
import { retryAfterMs } from '../http/retry-after.ts';
import type { Answer, NoAnswerError } from '../http/transport.ts';
import { cleanText } from './clean-text.ts';
import { type ErrorBody, readErrorBody } from './error-body.ts';
import { type Endpoint, knownCodes, rowFor, uncoveredKind } from './fault-table.ts';

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
): PartnerError {
  const { status, head } = answer;
  const body = withChallenge(readErrorBody(answer.body, knownCodes), head.headers['www-authenticate']);
  const kind = rowFor(asked.endpoint, status, body)?.kind ?? uncoveredKind;
  const serviceCode = harmless(body.code, asked.secrets);
  const said = body.text === undefined ? '' : cleanText(body.text, asked.secrets);
  const asksToWait = kind === 'rate-limited' || status === 503;
  const waitMs = asksToWait ? retryAfterMs(head.headers['retry-after'], head.headers.date, nowMs) : undefined;
  const message = `${asked.what} answered ${status}${serviceCode ? ` ${serviceCode}` : ''}${said ? `: ${said}` : ''}`;
  return new PartnerError(kind, message, {
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
export function faultOfSilence(error: NoAnswerError, what: string): PartnerError {
  const code = (error.cause as NodeJS.ErrnoException | undefined)?.code;
  return new PartnerError('transient', `${what}: ${error.message}${code ? ` (${code})` : ''}`, {
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
export function mayBeCursorRejection({ status, code, serviceCode = '' }: PartnerError): boolean {
  return rejectionStatuses.has(status) && !otherMeanings.has(code) && !/version/i.test(serviceCode);
}

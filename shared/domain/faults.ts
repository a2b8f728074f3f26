/**
 * Every kind of fault between the bridge and the partner service, with one table of what is done about each. How an answer
 * becomes one of them is a table too, shared/partner-api/errors/fault-table.ts. Each column of the table here is used in one
 * place:
 *
 * - `retryable`: the same call tries again at once (shared/partner-api/http/retry-policy.ts).
 * - `deadLettered`: fan-out redelivers the message with a growing delay, or gives it up (functions/fan-out/redelivery.ts).
 * - `blames`: messages of a partner account that is stopped or paused, in a long pause of the service, or in a pause that an
 *   operator wants, wait outside the queue (functions/fan-out/fan-out.ts).
 * - `needsAttention`: logged as an error and counted, for an alarm; the drain polls again all the same.
 *
 * For example: 400 with the code `validation_error` is `invalid-request`, whose messages are dead-lettered `at-once`: the
 * advert's message becomes a dead letter at its first try.
 *
 * docs/contribute/architecture.md has all who retry something, faults of AWS and of the bus included.
 */

import { ShapeError } from '../contract/checks.ts';

export const faultKinds = [
  'transient',
  'rate-limited',
  'paused',
  'forbidden',
  'token-rejected',
  'scope-insufficient',
  'invalid-request',
  'request-refused',
  'not-found',
  'wrong-path',
  'contract-broken',
  'grant-rejected',
  'client-rejected',
  'scope-refused',
  'other-user',
  'account-stopped',
  'account-paused',
  'operator-paused',
  'generation-over',
  'account-busy',
  'malformed-state',
] as const;
export type FaultKind = (typeof faultKinds)[number];

export interface FaultPolicy {
  /** One more attempt within the same call may help. */
  readonly retryable: boolean;
  /** Whose fault it is: others are not to suffer from it. */
  readonly blames: 'service' | 'partner-account' | 'advert' | 'bridge';
  /** When a message that meets it is dead-lettered: at its first try, after a few, or only when it is old. */
  readonly deadLettered: 'at-once' | 'by-tries' | 'by-age';
  /** It does not end before a person does something. */
  readonly needsAttention: boolean;
}

const policy = (
  blames: FaultPolicy['blames'],
  deadLettered: FaultPolicy['deadLettered'],
  { retryable = false, needsAttention = false } = {},
): FaultPolicy => ({ blames, deadLettered, retryable, needsAttention });

export const faultPolicies: Readonly<Record<FaultKind, FaultPolicy>> = {
  /** No answer, a reset, a timeout, 5xx, a body that is not JSON. */
  transient: policy('service', 'by-age', { retryable: true }),
  /** 429. */
  'rate-limited': policy('service', 'by-age'),
  /** Not sent: the service asked all of the bridge to wait, or the rate budget has no slot inside the deadline. */
  paused: policy('service', 'by-age'),
  /** 403 without a known code: one forbidden advert, or the beginning of an address block. */
  forbidden: policy('advert', 'by-tries'),
  /** 401: the access token has run out. */
  'token-rejected': policy('partner-account', 'by-age'),
  'scope-insufficient': policy('partner-account', 'by-age', { needsAttention: true }),
  /** 400 or 422, or 409 with a code such as validation_error: our request is wrong, so it is never sent again unchanged. */
  'invalid-request': policy('advert', 'at-once'),
  /** Any other 4xx: refused without a word that it is the request's own fault (409, 423, 451 may end by themselves). */
  'request-refused': policy('advert', 'by-tries'),
  /**
   * 404 or 410 in the service's own error shape (shared/partner-api/errors/error-body.ts). Of an advert that is an outcome, no fault:
   * `observe` in functions/fan-out/settle-advert.ts makes `AdvertUnavailable` of it.
   */
  'not-found': policy('advert', 'by-tries'),
  /** 404 for the path itself: the base URL is wrong. */
  'wrong-path': policy('bridge', 'by-age', { needsAttention: true }),
  /** 200 with a body of the wrong shape, or one beyond the size limit. */
  'contract-broken': policy('advert', 'by-tries'),
  /** invalid_grant: the refresh token, or the one-time code, is dead. */
  'grant-rejected': policy('partner-account', 'by-age', { needsAttention: true }),
  /** invalid_client: the application's own credentials are wrong. */
  'client-rejected': policy('bridge', 'by-age', { needsAttention: true }),
  /** invalid_scope, or less granted than asked for. */
  'scope-refused': policy('partner-account', 'by-age', { needsAttention: true }),
  /** A known name was to be connected, and another user authorized. */
  'other-user': policy('partner-account', 'by-age', { needsAttention: true }),
  /** The partner account needs manual reauthorization: not sent. */
  'account-stopped': policy('partner-account', 'by-age', { needsAttention: true }),
  /** The partner account is paused: not sent. */
  'account-paused': policy('partner-account', 'by-age'),
  /** An operator has paused the partner account, or the whole bridge: not sent. Its messages are parked, whatever their age. */
  'operator-paused': policy('bridge', 'by-age'),
  /** The name was given to another user, or forgotten, since: not sent, for the token is not that user's any more. */
  'generation-over': policy('partner-account', 'by-age'),
  /** Another process is changing the partner account's credentials: the command has to be repeated. */
  'account-busy': policy('partner-account', 'by-age'),
  /** A secret or a stored row is not of its shape: half-written, or edited by hand. Never overwritten. */
  'malformed-state': policy('bridge', 'by-age', { needsAttention: true }),
};

export interface FaultDetails {
  /** Status of the answer, if there was one. */
  readonly status?: number;
  /** The error code in the body, such as `invalid_token`. */
  readonly serviceCode?: string;
  /** How long the service, or the bridge itself, wants to be left alone. */
  readonly retryAfterMs?: number;
  /** What the service asked for, where that is longer than the bridge lets itself be paused; else absent. */
  readonly askedToWaitMs?: number;
  readonly cause?: unknown;
}

/** A request to the partner service that did not bring what was asked for. The message holds no secret. */
export class PartnerError extends Error {
  override readonly name = 'PartnerError';
  readonly code: FaultKind;
  readonly status: number | undefined;
  readonly serviceCode: string | undefined;
  readonly retryAfterMs: number | undefined;
  readonly askedToWaitMs: number | undefined;

  constructor(kind: FaultKind, message: string, { cause, ...details }: FaultDetails = {}) {
    super(message, { cause });
    this.code = kind;
    this.status = details.status;
    this.serviceCode = details.serviceCode;
    this.retryAfterMs = details.retryAfterMs;
    this.askedToWaitMs = details.askedToWaitMs;
  }

  get policy(): FaultPolicy {
    return faultPolicies[this.code];
  }
}

/** `error` as a fault of the pipeline: anything unexpected is transient, with the error as its cause. */
export function asPartnerError(error: unknown): PartnerError {
  if (error instanceof PartnerError) return error;
  if (error instanceof ShapeError)
    return new PartnerError('malformed-state', error.message, { cause: error });
  const name = error instanceof Error ? error.name : typeof error;
  return new PartnerError('transient', `unexpected ${name}`, { cause: error });
}

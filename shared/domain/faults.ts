/**
 * Every kind of fault between the bridge and the partner service, and a table of how each is handled;
 * shared/partner-api/fault-table.ts decides which answer becomes which fault, and blame.ts what it holds. docs/contribute/architecture.md lists every
 * retry, including those of AWS calls and of the bus.
 */
import { ShapeError } from '../contract/checks.ts';

export interface FaultPolicy {
  /** When fan-out gives up a message: at its first try, after a few tries, or only by its age (redelivery.ts). */
  readonly deadLettered: 'at-once' | 'by-tries' | 'by-age';
  /** One more attempt within the same call may help. */
  readonly retryable: boolean;
  /** Somebody must act: logged as an error and counted for an alarm. The drain still polls again. */
  readonly needsAttention: boolean;
}

const policy = (
  deadLettered: FaultPolicy['deadLettered'],
  { retryable = false, needsAttention = false } = {},
): FaultPolicy => ({ deadLettered, retryable, needsAttention });

export const faultPolicies = {
  /** No answer, a reset, a timeout, 5xx, a body that is not JSON. */
  transient: policy('by-age', { retryable: true }),
  /** 429. */
  'rate-limited': policy('by-age'),
  /** Not sent: the service asked the whole bridge to wait, or the rate budget has no slot before the deadline. */
  paused: policy('by-age'),
  /** 403 without a known code: one forbidden advert, or the first sign of an address block. */
  forbidden: policy('by-tries'),
  /** 401, also after the token was renewed. If several adverts of the account get it, the account is held (blame.ts). */
  'token-rejected': policy('by-tries'),
  'scope-insufficient': policy('by-age', { needsAttention: true }),
  /** 400 or 422, or 409 with a code such as validation_error: our request is wrong, so it is never sent again unchanged. */
  'invalid-request': policy('at-once'),
  /** Any other 4xx: refused for a reason that may not lie in the request (409, 423, 451 may go away). */
  'request-refused': policy('by-tries'),
  /** 404 or 410 in the service's own error shape; fan-out makes it `AdvertUnavailable`. */
  'not-found': policy('by-tries'),
  /** 404 for the path itself: the base URL is wrong. */
  'wrong-path': policy('by-age', { needsAttention: true }),
  /** 200 with a body of the wrong shape, or a body beyond the size limit. */
  'contract-broken': policy('by-tries'),
  /** A message was delivered again and again without a result, because fan-out ended each time before it had one. */
  'delivered-too-often': policy('at-once'),
  /** invalid_grant: the refresh token, or the one-time code, is not valid any more. */
  'grant-rejected': policy('by-age', { needsAttention: true }),
  /** invalid_client: the application's own credentials are wrong. */
  'client-rejected': policy('by-age', { needsAttention: true }),
  /** invalid_scope, or a smaller scope than requested. */
  'scope-refused': policy('by-age', { needsAttention: true }),
  /** `connect` for a known name was authorized by a different user. */
  'other-user': policy('by-age', { needsAttention: true }),
  /** The partner account needs manual reauthorization: not sent. */
  'account-stopped': policy('by-age', { needsAttention: true }),
  /** The partner account is paused: not sent. */
  'account-paused': policy('by-age'),
  /** An operator has paused the partner account, or the whole bridge: not sent. Its messages wait aside, whatever their age. */
  'operator-paused': policy('by-age'),
  /** The account was given to another user or forgotten: the token is not that user's. Not sent. */
  'generation-over': policy('by-age'),
  /** Another process is changing the partner account's credentials: the command has to be repeated. */
  'account-busy': policy('by-age'),
  /** A secret or a stored row has the wrong shape: half-written, or edited manually. It is never overwritten. */
  'malformed-state': policy('by-age', { needsAttention: true }),
  /** A table, queue, secret or function of the bridge is missing, or the bridge may not use it. */
  'resource-unusable': policy('by-age', { needsAttention: true }),
} as const satisfies Record<string, FaultPolicy>;

export type FaultKind = keyof typeof faultPolicies;
export const faultKinds = Object.keys(faultPolicies) as readonly FaultKind[];

interface FaultDetails {
  /** Status of the answer, if there was one. */
  readonly status?: number | undefined;
  /** The error code in the body, such as `invalid_token`. */
  readonly serviceCode?: string | undefined;
  /** How long to wait before the next request, as asked by the service or by the bridge itself. */
  readonly retryAfterMs?: number | undefined;
  /** The wait that the service asked for, if it is longer than the bridge accepts; otherwise absent. */
  readonly askedToWaitMs?: number | undefined;
}

/** A failed request to the partner service. The message contains no secret. */
export class BridgeFault extends Error implements FaultDetails {
  override readonly name = 'BridgeFault';
  readonly code: FaultKind;
  declare readonly status?: FaultDetails['status'];
  declare readonly serviceCode?: FaultDetails['serviceCode'];
  declare readonly retryAfterMs?: FaultDetails['retryAfterMs'];
  declare readonly askedToWaitMs?: FaultDetails['askedToWaitMs'];

  constructor(kind: FaultKind, message: string, { cause, ...details }: FaultDetails & ErrorOptions = {}) {
    super(message, { cause });
    this.code = kind;
    const { status, serviceCode, retryAfterMs, askedToWaitMs } = details;
    Object.assign(this, { status, serviceCode, retryAfterMs, askedToWaitMs });
  }

  get policy(): FaultPolicy {
    return faultPolicies[this.code];
  }
}

/** Names of AWS errors about a resource that is missing or denied. Waiting does not help. */
const unusable = /^(AccessDenied|KMSAccessDenied|ResourceNotFound|QueueDoesNotExist)/;

/** Converts any error to a {@link BridgeFault}: an unexpected error becomes `transient`, with the error as its cause. */
export function asBridgeFault(error: unknown): BridgeFault {
  if (error instanceof BridgeFault) return error;
  if (error instanceof ShapeError) return new BridgeFault('malformed-state', error.message, { cause: error });
  const refused = [error, (error as Partial<Error> | undefined)?.cause].find(
    (one) => one instanceof Error && unusable.test(one.name),
  ) as Error | undefined;
  if (refused) {
    const message = `a resource of the bridge cannot be used: ${refused.name}: ${refused.message}`;
    return new BridgeFault('resource-unusable', message, { cause: error });
  }
  const name = error instanceof Error ? error.name : typeof error;
  return new BridgeFault('transient', `unexpected ${name}`, { cause: error });
}

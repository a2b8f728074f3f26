/**
 * Every kind of fault between the bridge and the partner service, and the one table of what each means;
 * shared/partner-api/fault-table.ts decides which answer becomes which fault, and blame.ts what it holds. docs/contribute/architecture.md lists every
 * retry, including those of AWS calls and of the bus.
 */
import { ShapeError } from '../contract/checks.ts';

export interface FaultPolicy {
  /** When fan-out gives up a message: at its first, its second or its fifth try, by its age, or never (redelivery.ts). */
  readonly deadLettered: 'at-once' | 'at-second' | 'by-tries' | 'by-age' | 'never';
  /**
   * What may be the reason beside the resource that was asked for: the partner account, the address or the whole service
   * (`more`, blame.ts), the cursor of a feed (read-page.ts), the token endpoint or the application's secret (renewal.ts).
   */
  readonly mayBlame: readonly ('more' | 'cursor' | 'endpoint')[];
  /** Such a fault comes of a hold in the account's row, or makes one: while it lasts, it is shown and not this fault. */
  readonly account?: 'stopped' | 'paused';
  /** Somebody must act: logged as an error and counted for an alarm. The drain still polls again. */
  readonly needsAttention?: true;
}

const byTries = { deadLettered: 'by-tries' } as const;
const byAge = { deadLettered: 'by-age' } as const;
const deferred = { deadLettered: 'never', mayBlame: [] } as const;
const stuck = { deadLettered: 'by-age', mayBlame: [], needsAttention: true } as const;

/** Every decision that depends on the kind of a fault alone. */
const table = {
  /** No answer, a reset, a timeout, 5xx, a body that is not JSON: one more attempt within the same call may help. */
  transient: { ...byAge, mayBlame: ['more', 'cursor', 'endpoint'] },
  /** 429. */
  'rate-limited': { ...byAge, mayBlame: [] },
  /** Not sent: the service asked the whole bridge to wait, or the rate budget has no slot before the deadline. */
  paused: deferred,
  /** 403 without a known code: one forbidden advert, or the first sign of an address block. */
  forbidden: { ...byTries, mayBlame: ['more', 'cursor', 'endpoint'] },
  /** 401, also after the token was renewed. If several adverts of the account get it, the account is held (blame.ts). */
  'token-rejected': { ...byTries, mayBlame: ['more', 'endpoint'] },
  'scope-insufficient': { ...stuck, account: 'stopped' },
  /** 400 or 422, or 409 with a code such as validation_error: our request is wrong; an advert's is sent once more, with a witness. */
  'invalid-request': { deadLettered: 'at-second', mayBlame: ['more', 'cursor', 'endpoint'] },
  /** Any other 4xx: refused for a reason that may not lie in the request (409, 423, 451 may go away). */
  'request-refused': { ...byTries, mayBlame: ['more', 'cursor', 'endpoint'] },
  /** 404, 410 or an empty success, not as HTML; fan-out makes it `AdvertUnavailable`. */
  'not-found': { ...byTries, mayBlame: ['cursor', 'endpoint'] },
  /** 404 where nothing was ever answered well, or a redirect: the base URL is wrong. */
  'wrong-path': { ...stuck, mayBlame: ['more', 'cursor', 'endpoint'] },
  /** 200 with a body of the wrong shape, or a body beyond the size limit. */
  'contract-broken': { ...byTries, mayBlame: ['more', 'endpoint'] },
  /** A message was delivered again and again without a result, because fan-out ended each time before it had one. */
  'delivered-too-often': { deadLettered: 'at-once', mayBlame: [] },
  /** invalid_grant: the refresh token, or the one-time code, is not valid any more. */
  'grant-rejected': { ...stuck, account: 'stopped' },
  /** invalid_client: the application's own credentials are wrong. */
  'client-rejected': { ...stuck, mayBlame: ['endpoint'] },
  /** invalid_scope, or a smaller scope than requested. */
  'scope-refused': stuck,
  /** `connect` for a known name was authorized by a different user. */
  'other-user': stuck,
  /** The partner account needs manual reauthorization: not sent. */
  'account-stopped': { ...stuck, account: 'stopped' },
  /** The partner account is paused: not sent. */
  'account-paused': { ...deferred, account: 'paused' },
  /** An operator has paused the partner account, or the whole bridge: not sent. Its messages wait aside, whatever their age. */
  'operator-paused': { ...deferred, account: 'paused' },
  /** The account was given to another user or forgotten: the token is not that user's. Not sent. */
  'generation-over': { ...byAge, mayBlame: [] },
  /** Another process is changing the partner account's credentials: the command has to be repeated. */
  'account-busy': { ...byAge, mayBlame: [] },
  /** A secret or a stored row has the wrong shape: half-written, or edited manually. It is never overwritten. */
  'malformed-state': stuck,
  'malformed-application': stuck,
  'malformed-pair': stuck,
  /** A table, queue, secret or function of the bridge is missing, or the bridge may not use it. */
  'resource-unusable': stuck,
} as const satisfies Record<string, FaultPolicy>;

export type FaultKind = keyof typeof table;
export const faultPolicies: Readonly<Record<FaultKind, FaultPolicy>> = table;
export const faultKinds = Object.keys(table) as readonly FaultKind[];
/** @param kind as it is stored; undefined for one of a newer bridge */
export const policyOf = (kind = ''): FaultPolicy | undefined =>
  Object.hasOwn(table, kind) ? faultPolicies[kind as FaultKind] : undefined;
/** Whether the request only waits for its time: nothing was sent, so nothing failed. @param kind as it is stored */
export const isDeferred = (kind: string): boolean => policyOf(kind)?.deadLettered === 'never';
/** Whether the number of tries decides when a message is given up. */
export const countsTries = (kind: FaultKind): boolean =>
  !isDeferred(kind) && faultPolicies[kind].deadLettered !== 'by-age';

/** A failed request to the partner service. The message contains no secret. */
export class BridgeFault extends Error {
  override readonly name = 'BridgeFault';
  readonly code: FaultKind;
  /** Status of the answer, if there was one. */
  declare readonly status?: number | undefined;
  /** The error code in the body, such as `invalid_token`. */
  declare readonly serviceCode?: string | undefined;
  /** How long to wait before the next request, as asked by the service or by the bridge itself. */
  declare readonly retryAfterMs?: number | undefined;
  /** The wait that the service asked for, if it is longer than the bridge accepts; otherwise absent. */
  declare readonly askedToWaitMs?: number | undefined;

  constructor(kind: FaultKind, message: string, { cause, ...details }: FaultDetails & ErrorOptions = {}) {
    super(message, { cause });
    this.code = kind;
    Object.assign(this, details);
  }

  get policy(): FaultPolicy {
    return faultPolicies[this.code];
  }

  mayBlame(what: FaultPolicy['mayBlame'][number]): boolean {
    return this.policy.mayBlame.includes(what);
  }
}

type FaultDetails = Pick<BridgeFault, 'status' | 'serviceCode' | 'retryAfterMs' | 'askedToWaitMs'>;

/** Names of AWS errors about a resource that is missing or denied. Waiting does not help. */
const unusable = /^(AccessDenied|KMSAccessDenied|ResourceNotFound|QueueDoesNotExist)/;

/** Converts any error to a {@link BridgeFault}: an unexpected error becomes `transient`, with the error as its cause. */
export function asBridgeFault(error: unknown): BridgeFault {
  if (error instanceof BridgeFault) return error;
  if (error instanceof ShapeError) {
    const kind = error.code === 'wrong-shape' ? 'malformed-state' : error.code;
    return new BridgeFault(kind, error.message, { cause: error });
  }
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

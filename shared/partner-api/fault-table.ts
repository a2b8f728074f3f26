/**
 * The table that maps an error answer to a fault. The first matching row decides. Rows with codes come before rows with
 * statuses. Human text is never used, because it is localised.
 */
import type { FaultKind } from '../domain/faults.ts';

/** What an error answer says, of any shape. */
export interface ErrorBody {
  /**
   * `own`: one of the service's own error shapes. `other`: other JSON, or plain text. `html`: a page of a proxy in
   * front of the service. `none`: empty, or not read.
   */
  readonly shape: 'own' | 'other' | 'html' | 'none';
  /** For programs, such as `invalid_token`. */
  readonly code?: string;
  /** Text for people, in any language. Not cleaned yet: clean it before you use it. */
  readonly text?: string;
}

/** Which part of the service answered: the token endpoint has its own codes (RFC 6749 §5.2). */
export type Endpoint = 'api' | 'token';

export interface FaultRow {
  readonly kind: FaultKind;
  /** Error codes in the body, in lower case. */
  readonly codes?: readonly string[];
  /** Single statuses, or from–to. */
  readonly statuses?: readonly (number | readonly [number, number])[];
  readonly shapes?: readonly ErrorBody['shape'][];
  readonly endpoint?: Endpoint;
}

const own = ['own'] as const;
const errors = [[400, 599]] as const;
const clientErrors = [[400, 499]] as const;

export const faultTable: readonly FaultRow[] = [
  // By code. A code in a redirect decides nothing.
  { kind: 'grant-rejected', endpoint: 'token', statuses: clientErrors, codes: ['invalid_grant'] },
  {
    kind: 'client-rejected',
    endpoint: 'token',
    statuses: clientErrors,
    codes: ['invalid_client', 'unauthorized_client'],
  },
  {
    kind: 'scope-refused',
    endpoint: 'token',
    statuses: clientErrors,
    codes: ['invalid_scope', 'insufficient_scope'],
  },
  { kind: 'scope-insufficient', endpoint: 'api', statuses: clientErrors, codes: ['insufficient_scope'] },
  {
    kind: 'token-rejected',
    endpoint: 'api',
    statuses: clientErrors,
    codes: ['invalid_token', 'expired_token', 'token_expired'],
  },
  {
    kind: 'rate-limited',
    statuses: errors,
    codes: ['too_many_requests', 'rate_limit_exceeded', 'rate_limited', 'slow_down'],
  },
  // This concerns every request, so no advert may be dead-lettered because of it.
  {
    kind: 'wrong-path',
    statuses: clientErrors,
    codes: ['invalid_version', 'unsupported_version', 'version_not_supported', 'version_required'],
  },
  {
    kind: 'invalid-request',
    statuses: [400, 409, 422],
    codes: ['validation_error', 'invalid_request', 'unsupported_grant_type'],
  },

  // By status.
  { kind: 'wrong-path', statuses: [[300, 399], 405, 407, 426] },
  { kind: 'rate-limited', statuses: [429] },
  // Without a specific code, nothing was revoked. At most the application's own credentials are wrong, which must not
  // stop a partner account.
  { kind: 'client-rejected', endpoint: 'token', statuses: [401] },
  { kind: 'wrong-path', endpoint: 'token', statuses: [404, 410] },
  { kind: 'token-rejected', statuses: [401] },
  { kind: 'forbidden', statuses: [403] },
  { kind: 'not-found', statuses: [404, 410], shapes: own },
  { kind: 'wrong-path', statuses: [404, 410] },
  { kind: 'transient', statuses: [408, 421, 425] },
  // A page of a proxy or firewall: the service itself has not seen the request.
  { kind: 'transient', statuses: clientErrors, shapes: ['html'] },
  { kind: 'invalid-request', statuses: [400, 422] },
  { kind: 'request-refused', statuses: clientErrors },
  { kind: 'transient', statuses: [[500, 599]] },
];

/** For statuses that no row covers because HTTP does not define them. */
export const uncoveredKind: FaultKind = 'transient';

/** All codes in the table. */
export const knownCodes: ReadonlySet<string> = new Set([
  ...faultTable.flatMap(({ codes }) => codes ?? []),
  'not_found',
  'advert_not_found',
]);

/** Returns the row that matches an error answer. */
export function rowFor(endpoint: Endpoint, status: number, { shape, code }: ErrorBody): FaultRow | undefined {
  const lowerCode = code?.toLowerCase();
  return faultTable.find(
    (row) =>
      (row.endpoint === undefined || row.endpoint === endpoint) &&
      (row.codes === undefined || (lowerCode !== undefined && row.codes.includes(lowerCode))) &&
      (row.shapes === undefined || row.shapes.includes(shape)) &&
      (row.statuses === undefined || row.statuses.some((range) => covers(range, status))),
  );
}

const covers = (range: number | readonly [number, number], status: number): boolean =>
  typeof range === 'number' ? status === range : status >= range[0] && status <= range[1];

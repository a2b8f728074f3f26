/**
 * How an answer becomes a fault, as data. The first row that fits decides; rows with codes stand
 * before those with statuses, and human text is never looked at, for it is localised.
 */
import type { FaultKind } from '../../domain/faults.ts';
import type { ErrorBody } from './error-body.ts';

/** Which part of the service answered: the token endpoint uses codes of its own (RFC 6749 §5.2). */
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
  // Every request meets it alike, so no advert may be dead-lettered for it.
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
  // Without a code that says so, the token endpoint has revoked nothing: at most the application's own credentials are
  // wrong, which stops no partner account.
  { kind: 'client-rejected', endpoint: 'token', statuses: [401] },
  { kind: 'wrong-path', endpoint: 'token', statuses: [404, 410] },
  { kind: 'token-rejected', statuses: [401] },
  { kind: 'forbidden', statuses: [403] },
  { kind: 'not-found', statuses: [404, 410], shapes: own },
  { kind: 'wrong-path', statuses: [404, 410] },
  { kind: 'transient', statuses: [408, 421, 425] },
  // A page of a proxy or firewall in front of the service, which itself has not seen the request.
  { kind: 'transient', statuses: clientErrors, shapes: ['html'] },
  { kind: 'invalid-request', statuses: [400, 422] },
  { kind: 'request-refused', statuses: clientErrors },
  { kind: 'transient', statuses: [[500, 599]] },
];

/** For what no row covers: statuses that HTTP does not have. */
export const uncoveredKind: FaultKind = 'transient';

/** Every code that a row knows. */
export const knownCodes: ReadonlySet<string> = new Set([
  ...faultTable.flatMap(({ codes }) => codes ?? []),
  'not_found',
  'advert_not_found',
]);

/** The row that decides about an error answer. */
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

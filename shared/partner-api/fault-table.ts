/** Maps error answers to faults. The first matching row decides; human text never does, because it is localised. */
import type { FaultKind } from '../domain/faults.ts';

/** `html`: a page of a proxy in front of the service; `other`: text that is not JSON, or not read; `none`: empty. */
export type BodyShape = 'json' | 'other' | 'html' | 'none';

/**
 * Which part of the service answered: the token endpoint has its own codes (RFC 6749 §5.2). `unproven`: an API of which
 * neither a feed nor an advert was ever answered well, so that the base URL may be wrong.
 */
export type Endpoint = 'api' | 'unproven' | 'token';

interface FaultRow {
  readonly kind: FaultKind;
  /** Error codes in the body, in lower case. */
  readonly codes?: readonly string[];
  /** Single statuses, or from–to. */
  readonly statuses: readonly (number | readonly [number, number])[];
  readonly shape?: BodyShape;
  /** Default: all. `api` includes `unproven`. */
  readonly endpoint?: Endpoint;
}

const statuses = [[400, 499]] as const;
const token = { endpoint: 'token', statuses } as const;
const api = { endpoint: 'api', statuses } as const;

const faultTable: readonly FaultRow[] = [
  // By code. A code in a redirect decides nothing.
  { ...token, kind: 'grant-rejected', codes: ['invalid_grant'] },
  { ...token, kind: 'client-rejected', codes: ['invalid_client', 'unauthorized_client'] },
  { ...token, kind: 'scope-refused', codes: ['invalid_scope', 'insufficient_scope'] },
  { ...api, kind: 'scope-insufficient', codes: ['insufficient_scope'] },
  { ...api, kind: 'token-rejected', codes: ['invalid_token', 'expired_token', 'token_expired'] },
  {
    kind: 'rate-limited',
    statuses: [[400, 599]],
    codes: ['too_many_requests', 'rate_limit_exceeded', 'rate_limited', 'slow_down'],
  },
  // This concerns every request, so no advert may be dead-lettered because of it.
  {
    kind: 'wrong-path',
    statuses,
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
  { kind: 'wrong-path', endpoint: 'unproven', statuses: [404, 410] },
  { kind: 'transient', statuses: [408, 421, 425] },
  // A page of a proxy or firewall: the service itself has not seen the request.
  { kind: 'transient', statuses, shape: 'html' },
  { kind: 'transient', statuses: [404, 410], shape: 'other' },
  { kind: 'not-found', statuses: [404, 410] },
  { kind: 'invalid-request', statuses: [400, 422] },
  { kind: 'request-refused', statuses },
];

/** All codes in the table. */
export const knownCodes: ReadonlySet<string> = new Set([
  ...faultTable.flatMap(({ codes }) => codes ?? []),
  'not_found',
  'advert_not_found',
]);

const isAbout = ({ endpoint: of }: FaultRow, endpoint: Endpoint): boolean =>
  of === undefined || of === endpoint || (of === 'api' && endpoint === 'unproven');

/** The kind of fault of an error answer; `transient` without a row, such as for statuses that HTTP does not define. */
export function kindOf(endpoint: Endpoint, status: number, shape: BodyShape, code = ''): FaultKind {
  const covers = (range: number | readonly [number, number]) =>
    typeof range === 'number' ? status === range : status >= range[0] && status <= range[1];
  const found = faultTable.find(
    (row) =>
      isAbout(row, endpoint) &&
      (row.shape ?? shape) === shape &&
      (row.codes === undefined || row.codes.includes(code.toLowerCase())) &&
      row.statuses.some(covers),
  );
  return found?.kind ?? 'transient';
}

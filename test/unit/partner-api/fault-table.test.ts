import { describe, expect, it } from 'vitest';
import type { FaultKind } from '../../../shared/domain/faults.ts';
import {
  faultOfAnswer,
  mayBeCursorRejection,
  readErrorBody,
} from '../../../shared/partner-api/error-answers.ts';
import { faultTable, knownCodes, rowFor } from '../../../shared/partner-api/fault-table.ts';
import type { Answer } from '../../../shared/partner-api/transport.ts';

const nowMs = Date.parse('2026-11-20T12:00:00Z');
type Case = readonly [endpoint: 'api' | 'token', status: number, body: unknown, kind: FaultKind];

const page = '<!doctype html><html><h1>Sorry</h1></html>';
const coded = (code: string) => ({ code, message: 'Something' });

const faultOf = (
  [endpoint, status, body]: readonly ['api' | 'token', number, unknown],
  headers: Answer['head']['headers'] = {},
) => {
  const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
  const answer: Answer = { status, body: text, head: { headers } };
  return faultOfAnswer(answer, { what: 'GET /x', endpoint, secrets: [] }, nowMs);
};

const cases: readonly Case[] = [
  ['token', 400, { error: 'invalid_grant', error_description: 'Used' }, 'grant-rejected'],
  ['token', 401, { error: { type: 'invalid_grant', message: 'Used' } }, 'grant-rejected'],
  ['token', 401, { error: 'invalid_client' }, 'client-rejected'],
  ['token', 400, { error: 'unauthorized_client' }, 'client-rejected'],
  ['token', 400, { error: 'invalid_scope' }, 'scope-refused'],
  ['token', 403, { error: 'insufficient_scope' }, 'scope-refused'],
  ['token', 400, { error: 'unsupported_grant_type' }, 'invalid-request'],
  ['token', 400, { error: 'invalid_request' }, 'invalid-request'],
  ['token', 400, coded('validation_error'), 'invalid-request'],
  ['token', 400, {}, 'invalid-request'],
  ['token', 401, '', 'client-rejected'],
  ['token', 401, { error: 'invalid_token' }, 'client-rejected'],
  ['token', 403, page, 'forbidden'],
  ['token', 404, { error: { status: 404, title: 'Not Found' } }, 'wrong-path'],
  ['token', 500, { error: 'invalid_grant' }, 'transient'],
  ['api', 401, { error: 'invalid_token', error_description: 'Expired' }, 'token-rejected'],
  ['api', 403, coded('invalid_token'), 'token-rejected'],
  ['api', 401, '', 'token-rejected'],
  ['api', 401, page, 'token-rejected'],
  ['api', 401, coded('whatever'), 'token-rejected'],
  ['api', 401, { error: 'insufficient_scope' }, 'scope-insufficient'],
  ['api', 403, { error: { status: 403, title: 'insufficient_scope' } }, 'scope-insufficient'],
  ['api', 401, { error: 'invalid_grant' }, 'token-rejected'],
  ['api', 429, '', 'rate-limited'],
  ['api', 429, page, 'rate-limited'],
  ['api', 403, coded('rate_limit_exceeded'), 'rate-limited'],
  ['api', 400, coded('unsupported_version'), 'wrong-path'],
  ['api', 403, '', 'forbidden'],
  ['api', 403, page, 'forbidden'],
  ['api', 403, coded('blocked'), 'forbidden'],
  ['api', 404, { error: { status: 404, title: 'Nie znaleziono', detail: null } }, 'not-found'],
  ['api', 404, { data: { error: { status: 404, detail: 'Gone' } } }, 'not-found'],
  ['api', 404, { error: { type: 'NotFound', message: 'No' } }, 'not-found'],
  ['api', 404, { error: 'not_found', message: 'No' }, 'not-found'],
  ['api', 404, coded('not_found'), 'not-found'],
  ['api', 410, coded('gone'), 'not-found'],
  ['api', 404, '', 'wrong-path'],
  ['api', 404, page, 'wrong-path'],
  ['api', 404, { message: 'no Route matched with those values' }, 'wrong-path'],
  ['api', 404, { status: 404, error: 'Not Found', path: '/x' }, 'wrong-path'],
  ['api', 404, { error: {} }, 'wrong-path'],
  ['api', 404, '"not found"', 'wrong-path'],
  ['api', 410, page, 'wrong-path'],
  ['api', 405, '', 'wrong-path'],
  ['api', 400, { code: 'validation_error', message: 'since' }, 'invalid-request'],
  ['api', 409, '', 'request-refused'],
  ['api', 409, coded('validation_error'), 'invalid-request'],
  ['api', 400, '', 'invalid-request'],
  ['api', 451, {}, 'request-refused'],
  [
    'api',
    422,
    { error: { status: 422, validation: [{ field: 'limit', title: 'too big' }] } },
    'invalid-request',
  ],
  ['api', 415, '', 'request-refused'],
  ['api', 400, page, 'transient'],
  ['api', 408, '', 'transient'],
  ['api', 425, '', 'transient'],
  ['api', 301, '', 'wrong-path'],
  ['api', 302, coded('invalid_token'), 'wrong-path'],
  ['api', 304, '', 'wrong-path'],
  ['api', 500, '', 'transient'],
  ['api', 502, page, 'transient'],
  ['api', 503, coded('validation_error'), 'transient'],
  ['api', 599, '{"half', 'transient'],
  ['api', 777, '', 'transient'],
];

describe('the fault table', () => {
  it.each(cases)('takes %s %i %j for %s', (endpoint, status, body, kind) => {
    expect(faultOf([endpoint, status, body]).code).toBe(kind);
  });

  it('has no row that none of these reaches', () => {
    const reached = cases.map(([endpoint, status, body]) =>
      rowFor(
        endpoint,
        status,
        readErrorBody(typeof body === 'string' ? body : JSON.stringify(body), knownCodes),
      ),
    );

    expect(faultTable.filter((row) => !reached.includes(row))).toEqual([]);
  });

  /**
   * The meaning of each code at the API and at the token endpoint. Undefined: the code has no meaning there, so the
   * status decides.
   */
  const codes: readonly (readonly [
    code: string,
    api: FaultKind | undefined,
    token: FaultKind | undefined,
  ])[] = [
    ['invalid_grant', undefined, 'grant-rejected'],
    ['invalid_client', undefined, 'client-rejected'],
    ['unauthorized_client', undefined, 'client-rejected'],
    ['invalid_scope', undefined, 'scope-refused'],
    ['insufficient_scope', 'scope-insufficient', 'scope-refused'],
    ['invalid_token', 'token-rejected', undefined],
    ['expired_token', 'token-rejected', undefined],
    ['token_expired', 'token-rejected', undefined],
    ...['too_many_requests', 'rate_limit_exceeded', 'rate_limited', 'slow_down'].map(
      (code) => [code, 'rate-limited', 'rate-limited'] as const,
    ),
    ...['invalid_version', 'unsupported_version', 'version_not_supported', 'version_required'].map(
      (code) => [code, 'wrong-path', 'wrong-path'] as const,
    ),
    ...['validation_error', 'invalid_request', 'unsupported_grant_type'].map(
      (code) => [code, 'invalid-request', 'invalid-request'] as const,
    ),
  ];

  it('is tested with every code that it knows', () => {
    const named = faultTable.flatMap((row) => row.codes ?? []);

    expect(codes.map(([code]) => code).sort()).toEqual([...new Set(named)].sort());
    expect(knownCodes).toEqual(new Set([...named, 'not_found', 'advert_not_found']));
  });

  it.each(codes)('knows the code %s, in any case, at 400, 409 and 422', (code, api, token) => {
    for (const status of [400, 409, 422]) {
      for (const written of [code, code.toUpperCase()]) {
        for (const [endpoint, kind] of [['api', api] as const, ['token', token] as const]) {
          const otherwise = status === 409 ? 'request-refused' : 'invalid-request';
          expect(faultOf([endpoint, status, coded(written)]).code).toBe(kind ?? otherwise);
        }
      }
    }
  });

  it.each(codes)('believes no %s in a redirect, nor, but for a rate, in a 5xx', (code, api) => {
    for (const endpoint of ['api', 'token'] as const) {
      expect(faultOf([endpoint, 399, coded(code)]).code).toBe('wrong-path');
      const kind = api === 'rate-limited' ? 'rate-limited' : 'transient';
      expect([500, 599].map((status) => faultOf([endpoint, status, coded(code)]).code)).toEqual([kind, kind]);
    }
  });

  it.each<[FaultKind, (number | readonly [number, number])[]]>([
    ['wrong-path', [[300, 399], 404, 405, 407, 410, 426]],
    ['invalid-request', [400, 422]],
    ['token-rejected', [401]],
    ['forbidden', [403]],
    ['transient', [408, 421, 425, [500, 700]]],
    ['rate-limited', [429]],
    ['request-refused', [402, 406, 409, [411, 420], 423, 424, 427, 428, [430, 499]]],
  ])('takes an answer without a body for %s by its status alone', (kind, statuses) => {
    const all = statuses.flatMap((range) =>
      typeof range === 'number'
        ? range
        : Array.from({ length: range[1] - range[0] + 1 }, (_, index) => range[0] + index),
    );

    for (const status of all) expect([status, faultOf(['api', status, '']).code]).toEqual([status, kind]);
  });

  it('reads the code in the header where the body has none', () => {
    const headers = { 'www-authenticate': 'Bearer realm="api", error="insufficient_scope"' };

    expect(faultOf(['api', 403, ''], headers)).toMatchObject({
      code: 'scope-insufficient',
      serviceCode: 'insufficient_scope',
    });
  });

  it('keeps the code although a detail beside it is odd', () => {
    const body = { error: { code: 'invalid_token', title: ['odd'], validation: { limit: 'odd' } } };

    expect(faultOf(['api', 400, body]).code).toBe('token-rejected');
  });

  it('judges by the status when the body was too large to be read', () => {
    expect(faultOf(['api', 404, undefined]).code).toBe('wrong-path');
    expect(faultOf(['api', 503, undefined]).code).toBe('transient');
  });

  it('says what was asked, the status, the code and the text, on one line', () => {
    const body = { error: { code: 'validation_error', detail: 'The parameter\r\nlimit\u0007 is odd' } };

    expect(faultOf(['api', 400, body]).message).toBe(
      'GET /x answered 400 validation_error: The parameter limit is odd',
    );
  });

  it('names the fields that a validation found fault with', () => {
    const body = { error: { status: 400, validation: [{ field: 'since', detail: 'is no time' }] } };

    expect(faultOf(['api', 400, body]).message).toContain('since: is no time');
  });
});

describe('Retry-After', () => {
  const waitOf = (status: number, headers: Answer['head']['headers']) =>
    faultOf(['api', status, ''], headers).retryAfterMs;

  it('counts in seconds', () => {
    expect(waitOf(429, { 'retry-after': '7' })).toBe(7_000);
    expect(waitOf(503, { 'retry-after': '1.5' })).toBe(1_500);
  });

  it("counts from the answer's own date", () => {
    const headers = { date: 'Fri, 20 Nov 2026 11:00:00 GMT', 'retry-after': 'Fri, 20 Nov 2026 11:00:30 GMT' };

    expect(waitOf(429, headers)).toBe(30_000);
  });

  it.each(['Fri, 31 Dec 9999 23:59:59 GMT', 'Thu, 01 Jan 1970 00:00:00 GMT'])(
    "counts from the bridge's clock where the answer's date is %s",
    (date) => {
      expect(waitOf(429, { date, 'retry-after': 'Fri, 20 Nov 2026 12:01:00 GMT' })).toBe(60_000);
    },
  );

  it("counts from the bridge's clock where the answer has no date", () => {
    expect(waitOf(429, { 'retry-after': 'Fri, 20 Nov 2026 12:01:00 GMT' })).toBe(60_000);
    expect(waitOf(429, { date: 'today', 'retry-after': 'Fri, 20 Nov 2026 12:01:00 GMT' })).toBe(60_000);
  });

  it.each(['', 'soon', '-5', '0', 'NaN', '1e3', '2026-11-20', 'Fri, 20 Nov 2020 12:00:00 GMT', 'x GMT'])(
    'is not there when it is %j',
    (value) => {
      expect(waitOf(429, { 'retry-after': value })).toBeUndefined();
    },
  );

  it('is a day at most', () => {
    expect(waitOf(429, { 'retry-after': '99999999999' })).toBe(86_400_000);
  });

  it('is left alone where the service does not ask everybody to wait', () => {
    expect(waitOf(500, { 'retry-after': '7' })).toBeUndefined();
    expect(waitOf(403, { 'retry-after': '7' })).toBeUndefined();
  });
});

describe('mayBeCursorRejection', () => {
  it.each([400, 403, 404, 409, 410, 422])('considers a plain %i', (status) => {
    expect(mayBeCursorRejection(faultOf(['api', status, '']))).toBe(true);
    expect(mayBeCursorRejection(faultOf(['api', status, page]))).toBe(true);
  });

  it.each([
    [400, coded('validation_error')],
    [404, { error: { status: 404, title: 'No such cursor' } }],
    [410, coded('cursor_expired')],
  ])('considers %i %j', (status, body) => {
    expect(mayBeCursorRejection(faultOf(['api', status, body]))).toBe(true);
  });

  it.each([
    [401, ''],
    [403, coded('insufficient_scope')],
    [400, coded('invalid_token')],
    [400, coded('unsupported_version')],
    [400, coded('version_header_missing')],
    [403, coded('rate_limit_exceeded')],
    [429, ''],
    [500, ''],
    [301, ''],
  ])('does not consider %i %j', (status, body) => {
    expect(mayBeCursorRejection(faultOf(['api', status, body]))).toBe(false);
  });
});

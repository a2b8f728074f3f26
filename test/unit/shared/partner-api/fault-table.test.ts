import { expect, it } from 'vitest';
import type { FaultKind } from '../../../../shared/domain/faults.ts';
import { Secret } from '../../../../shared/domain/secret.ts';
import {
  faultOfAnswer,
  mayBeCursorRejection,
  readErrorBody,
} from '../../../../shared/partner-api/error-answers.ts';
import { type BodyShape, type Endpoint, kindOf } from '../../../../shared/partner-api/fault-table.ts';
import type { Answer } from '../../../../shared/partner-api/transport.ts';
import { sentOf } from '../../../helpers/partner-api/fixtures.ts';

const nowMs = Date.parse('2026-11-20T12:00:00Z');
const page = '<!doctype html><html><h1>Sorry</h1></html>';
const coded = (code: string) => ({ code, message: 'Something' });

function faultOf(
  endpoint: 'api' | 'unproven' | 'token',
  status: number,
  body: unknown,
  headers: Answer['head']['headers'] = {},
) {
  return faultOfAnswer(sentOf(body, { status, headers, receivedAt: nowMs }), endpoint);
}

/** The kind of codes at the API and at the token endpoint; `-`: the status decides. */
const codes: readonly (readonly [codes: string, api: FaultKind | '-', token: FaultKind | '-'])[] = [
  ['invalid_grant', '-', 'grant-rejected'],
  ['invalid_client unauthorized_client', '-', 'client-rejected'],
  ['invalid_scope', '-', 'scope-refused'],
  ['insufficient_scope', 'scope-insufficient', 'scope-refused'],
  ['invalid_token expired_token token_expired', 'token-rejected', '-'],
  ['too_many_requests rate_limit_exceeded rate_limited slow_down', 'rate-limited', 'rate-limited'],
  ['invalid_version unsupported_version version_not_supported version_required', 'wrong-path', 'wrong-path'],
  ['validation_error invalid_request unsupported_grant_type', 'invalid-request', 'invalid-request'],
  ['not_found advert_not_found whatever', '-', '-'],
];
const everyStatus = Array.from({ length: 401 }, (_, index) => 300 + index);
const eachCode = codes.flatMap(([names, ...kinds]) =>
  names.split(' ').map((code) => [code, ...kinds] as const),
);

it.each(eachCode)(
  'a fault follows the code %s in any case, not in a redirect or a 5xx',
  (code, api, token) => {
    const kinds = { api, unproven: api, token };
    for (const endpoint of ['api', 'unproven', 'token'] as const) {
      const kind = kinds[endpoint];
      const isMeant = (status: number) =>
        kind === 'rate-limited'
          ? status >= 400 && status < 600
          : status >= 400 && status < 500 && (kind !== 'invalid-request' || [400, 409, 422].includes(status));
      const kindsOf = (written?: string) =>
        everyStatus.map((status) => kindOf(endpoint, status, 'json', written));
      const expected = kindsOf().map((otherwise, index) =>
        kind !== '-' && isMeant(300 + index) ? kind : otherwise,
      );

      expect(kindsOf(code)).toEqual(expected);
      expect(kindsOf(code.toUpperCase())).toEqual(expected);
    }
    // A known code is one in a title, too.
    expect(faultOf('api', 418, { title: code }).serviceCode).toBe(code === 'whatever' ? undefined : code);
  },
);

type Statuses = readonly (number | readonly [number, number])[];
const allOf = (statuses: Statuses) =>
  statuses.flatMap((range) =>
    typeof range === 'number'
      ? range
      : Array.from({ length: range[1] - range[0] + 1 }, (_, index) => range[0] + index),
  );
const byStatus: readonly (readonly [FaultKind, Statuses])[] = [
  ['wrong-path', [[300, 399], 405, 407, 426]],
  ['not-found', [404, 410]],
  ['invalid-request', [400, 422]],
  ['token-rejected', [401]],
  ['forbidden', [403]],
  ['transient', [408, 421, 425, [500, 700]]],
  ['rate-limited', [429]],
  ['request-refused', [402, 406, 409, [411, 420], 423, 424, 427, 428, [430, 499]]],
];
const gone = [404, 410];
const ofProxy = [400, 402, 406, [408, 409], [411, 425], 427, 428, [430, 499]] as const;

it.each<[Endpoint, BodyShape, ...(readonly [FaultKind, Statuses])[]]>([
  ['api', 'none'],
  ['api', 'json'],
  ['api', 'other', ['transient', gone]],
  ['api', 'html', ['transient', gone], ['transient', ofProxy]],
  ['unproven', 'json', ['wrong-path', gone]],
  ['unproven', 'other', ['wrong-path', gone]],
  ['unproven', 'html', ['wrong-path', gone], ['transient', ofProxy]],
  ['token', 'json', ['wrong-path', gone], ['client-rejected', [401]]],
  ['token', 'other', ['wrong-path', gone], ['client-rejected', [401]]],
  ['token', 'html', ['wrong-path', gone], ['client-rejected', [401]], ['transient', ofProxy]],
])(
  'a fault at %s without a code follows the status when the body is %s',
  (endpoint, shape, ...deviations) => {
    const kinds = new Map<number, FaultKind>();
    for (const [kind, statuses] of [...byStatus, ...deviations])
      for (const status of allOf(statuses)) kinds.set(status, kind);

    expect(everyStatus.map((status) => kindOf(endpoint, status, shape))).toEqual(
      everyStatus.map((status) => kinds.get(status)),
    );
  },
);

it.each<['api' | 'unproven' | 'token', number, unknown, FaultKind]>([
  ['token', 404, { error: { status: 404, title: 'Not Found' } }, 'wrong-path'],
  ['api', 403, coded('blocked'), 'forbidden'],
  ['api', 599, '{"half', 'transient'],
  // In whatever shape, also in other languages and with odd details.
  ['api', 404, { type: 'about:blank', title: 'Not Found', status: 404, detail: 'No' }, 'not-found'],
  ['api', 404, { errors: [{ code: 'NOT_FOUND', message: 'No' }] }, 'not-found'],
  ['api', 404, { timestamp: 'x', status: 404, error: 'Not Found', path: '/x' }, 'not-found'],
  ['api', 404, { error: { status: 404, title: 'Nie znaleziono', detail: null } }, 'not-found'],
  ['api', 404, { data: { error: { status: 404, detail: 'Gone' } } }, 'not-found'],
  ['api', 404, { error: { type: 'NotFound', message: 'No' } }, 'not-found'],
  ['api', 404, { error: 'not_found', message: 'No' }, 'not-found'],
  ['api', 410, coded('gone'), 'not-found'],
  ['api', 404, { message: 'no Route matched with those values' }, 'not-found'],
  ['api', 404, { error: {} }, 'not-found'],
  ['api', 404, '"not found"', 'not-found'],
  // Of somebody in front of the service, or cut off.
  ['api', 404, page, 'transient'],
  ['api', 404, undefined, 'transient'],
  ['api', 404, ' ', 'not-found'],
  ['api', 403, coded('INSUFFICIENT_SCOPE'), 'scope-insufficient'],
  ['api', 404, '404 page not found', 'transient'],
  // Nothing was ever answered well at this base URL.
  ['unproven', 404, { error: { status: 404, title: 'Not Found' } }, 'wrong-path'],
])('a fault at %s is, for %i %j, %s', (endpoint, status, body, kind) => {
  expect(faultOf(endpoint, status, body).code).toBe(kind);
});

it.each<[object, string | undefined, string]>([
  [{ error: { status: 400, title: 'Bad', detail: 'Why', validation: [] } }, undefined, ' (Bad; Why)'],
  [{ data: { error: { code: 'a_b', detail: 'Why' } } }, 'a_b', ' a_b (Why)'],
  [{ error: 'a_b', error_description: 'Why' }, 'a_b', ' a_b (Why)'],
  [{ error: { type: 'a_b', message: 'Why' } }, 'a_b', ' a_b (Why)'],
  [{ error: 'a_b', message: 'Why' }, 'a_b', ' a_b (Why)'],
  [{ code: 'a_b', message: 17 }, 'a_b', ' a_b'],
  [{ error: { title: 'invalid_token' } }, 'invalid_token', ' invalid_token'],
  [{ error: { title: 'Invalid_Token' } }, 'Invalid_Token', ' Invalid_Token'],
  [{ error: { code: 'a_b', type: 'c_d', title: 'invalid_token' } }, 'a_b', ' a_b (invalid_token)'],
  [{ error: { type: 'c_d', title: 'invalid_token' } }, 'c_d', ' c_d (invalid_token)'],
  [{ code: 'a_b', error: 'c_d' }, 'c_d', ' c_d'],
  [{ code: 'a_b', error: 'Not so' }, 'a_b', ' a_b'],
  [{ error: 'a_b', error_description: 'Why', message: 'Because' }, 'a_b', ' a_b (Because)'],
  [{ data: { error: { code: 'a_b' } }, error: { code: 'c_d' } }, 'a_b', ' a_b'],
  [{ message: 'Why', errors: [{ code: 'a_b' }] }, undefined, ' (Why)'],
  [{ error: ['a_b'], errors: [] }, undefined, ''],
  [[{ error: 'a_b' }], undefined, ''],
  [
    { error: { title: 'T', detail: 'D', message: 'M', validation: ['x', { title: 'I' }] } },
    undefined,
    ' (T; D; M; I)',
  ],
  [
    { error: { validation: [{ field: 'since', title: 'odd', detail: 'late' }] } },
    undefined,
    ' (since: late)',
  ],
  [{ error: { code: `a${'b'.repeat(63)}` } }, `a${'b'.repeat(63)}`, ` a${'b'.repeat(63)}`],
  [{ error: { title: 'Forbidden' } }, undefined, ' (Forbidden)'],
  [
    { error: { validation: [{ field: 'since', title: 'odd' }, { detail: 'late' }, { field: 'limit' }] } },
    undefined,
    ' (since: odd; late; limit)',
  ],
  [{ error: { code: 'a_b', title: ['odd'], validation: { limit: 'odd' } } }, 'a_b', ' a_b'],
  [{ error: { code: 'a_b', title: 'a_b', detail: 'Why', message: 'Why' } }, 'a_b', ' a_b (Why)'],
  [{ error: { code: 'two words', type: 'a_b', title: 'T' } }, 'a_b', ' a_b (T)'],
  [{ error: { code: `a${'b'.repeat(64)}` } }, undefined, ''],
  [{ type: 'about:blank', title: 'T', status: 409, detail: 'Why' }, undefined, ' (T; Why)'],
  [{ errors: [{ code: 'a_b', detail: 'Why' }, { code: 'c' }] }, 'a_b', ' a_b (Why)'],
  [{ errors: ['Why'] }, undefined, ' (Why)'],
  [{ timestamp: 'x', status: 409, error: 'Not so', path: '/x' }, undefined, ''],
  [{ message: 'Why' }, undefined, ' (Why)'],
  [{ error: { code: 'a_b', detail: 'The\r\nlimit\u0007' } }, 'a_b', ' a_b (The limit)'],
])('a fault has the code and the text of %j', (body, serviceCode, said) => {
  const { message, ...fault } = faultOf('api', 409, body);

  expect([fault.serviceCode, message]).toEqual([serviceCode, `GET /x answered 409${said}`]);
});

it('a fault has the code of the header when the body has none', () => {
  const headers = { 'www-authenticate': 'Bearer realm="api", error="insufficient_scope"' };

  expect(faultOf('api', 403, '', headers)).toMatchObject({
    code: 'scope-insufficient',
    serviceCode: 'insufficient_scope',
  });
});

it.each<[string, string, object | string, string | undefined]>([
  ['no code that is not known', 'Bearer error="whatever"', '', undefined],
  ['no code of another parameter', 'Bearer my_error="invalid_token"', '', undefined],
  ['the code of the body first', 'Bearer error="invalid_token"', coded('a_b'), 'a_b'],
])('a fault has %s beside a header', (_what, header, body, serviceCode) => {
  expect(faultOf('api', 403, body, { 'www-authenticate': header }).serviceCode).toBe(serviceCode);
});

it('a fault has no code that repeats a secret', () => {
  const sent = sentOf(coded('hush_hush_0123'), { status: 409, secrets: [new Secret('hush_hush_0123')] });

  const fault = faultOfAnswer(sent, 'api');

  expect([fault.serviceCode, fault.status]).toEqual([undefined, 409]);
  expect(fault.message).toBe('GET /x answered 409 (Something)');
});

it.each<[string | undefined, string]>([
  ['', 'none'],
  [' \n', 'none'],
  ['\ufeff', 'none'],
  [' <html>', 'html'],
  ['\ufeff<html>', 'html'],
  ['{"a":1}', 'json'],
  ['\ufeff {"a":1}\n', 'json'],
  ['null', 'json'],
  ['{"a":1', 'other'],
  ['text', 'other'],
  [undefined, 'other'],
])('the body of a fault %j is %s', (body, shape) => {
  expect(readErrorBody(body).shape).toBe(shape);
});

it.each<[number, FaultKind]>([
  [200, 'grant-rejected'],
  [299, 'grant-rejected'],
  [300, 'wrong-path'],
])('an error in a %i of the token endpoint is %s', (status, kind) => {
  expect(faultOf('token', status, { error: 'invalid_grant' }).code).toBe(kind);
});

it.each([
  ['600', undefined, 600_000, undefined],
  ['600', 600_000, 600_000, undefined],
  ['601', 600_000, 600_000, 601_000],
  ['600', 0, undefined, 600_000],
])('a wait of %s s is at most %s ms', (value, maxMs, retryAfterMs, askedToWaitMs) => {
  const headers = { 'retry-after': value };
  const sent = sentOf(coded('rate_limited'), { status: 400, headers, receivedAt: nowMs });

  const fault = faultOfAnswer(sent, 'api', maxMs);

  expect([fault.retryAfterMs, fault.askedToWaitMs]).toEqual([retryAfterMs, askedToWaitMs]);
});

const later = 'Fri, 20 Nov 2026 12:01:00 GMT';
it.each<[status: number, value: string, date: string | undefined, waitMs: number | undefined]>([
  [429, '7', undefined, 7_000],
  [503, '1.5', undefined, 1_500],
  [429, '99999999999', undefined, 86_400_000],
  // Some services send the moment, in seconds since 1970.
  [429, `${nowMs / 1000 + 20}`, undefined, 20_000],
  [503, `${nowMs / 1000 - 3_580}`, 'Fri, 20 Nov 2026 11:00:00 GMT', 20_000],
  [429, `${nowMs / 1000 - 20}`, undefined, undefined],
  // From the answer's own date, unless that is missing or implausible.
  [429, 'Fri, 20 Nov 2026 11:00:30 GMT', 'Fri, 20 Nov 2026 11:00:00 GMT', 30_000],
  [429, later, undefined, 60_000],
  [429, later, 'today', 60_000],
  [429, later, 'Fri, 31 Dec 9999 23:59:59 GMT', 60_000],
  [429, later, 'Thu, 01 Jan 1970 00:00:00 GMT', 60_000],
  // Only these two statuses ask everybody to wait.
  [500, '7', undefined, undefined],
  [403, '7', undefined, undefined],
  ...['', 'soon', '-5', '0', '1e3', '2026-11-20', 'Fri, 20 Nov 2020 12:00:00 GMT', 'x GMT'].map(
    (value): [number, string, undefined, undefined] => [429, value, undefined, undefined],
  ),
])('Retry-After of %i, %j with the Date %s is a wait of %s ms', (status, value, date, waitMs) => {
  expect(faultOf('api', status, '', { 'retry-after': value, date }).retryAfterMs).toBe(waitMs);
});

it.each<[number, unknown, boolean]>([
  ...[400, 403, 404, 409, 410, 412, 414, 416, 422, 431].flatMap((status): [number, unknown, boolean][] => [
    [status, '', true],
    [status, page, true],
  ]),
  [400, coded('validation_error'), true],
  [410, coded('cursor_expired'), true],
  [401, '', false],
  [403, coded('insufficient_scope'), false],
  [400, coded('invalid_token'), false],
  [400, coded('version_header_missing'), false],
  [400, coded('Unsupported_Version'), false],
  [403, coded('rate_limit_exceeded'), false],
  [429, '', false],
  [500, '', false],
  [301, '', false],
])('a cursor counts as rejected for %i %j %s', (status, body, expected) => {
  expect(mayBeCursorRejection(faultOf('api', status, body))).toBe(expected);
});

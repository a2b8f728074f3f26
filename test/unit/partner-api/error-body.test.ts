import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BridgeFault, faultKinds } from '../../../shared/domain/faults.ts';
import { Secret } from '../../../shared/domain/secret.ts';
import { advertIn, listIn, pageIn, tokensIn } from '../../../shared/partner-api/answers.ts';
import { faultOfAnswer, readErrorBody } from '../../../shared/partner-api/error-answers.ts';

const asked = { what: 'GET /x', token: new Secret('of-the-request') };

const known = new Set(['invalid_token']);

describe('readErrorBody', () => {
  it.each([
    [
      { error: { status: 400, title: 'Bad', detail: 'Why', validation: [] } },
      { shape: 'own', text: 'Bad; Why' },
    ],
    [{ data: { error: { code: 'a_b', detail: 'Why' } } }, { shape: 'own', code: 'a_b', text: 'Why' }],
    [
      { error: 'a_b', error_description: 'Why' },
      { shape: 'own', code: 'a_b', text: 'Why' },
    ],
    [{ error: { type: 'a_b', message: 'Why' } }, { shape: 'own', code: 'a_b', text: 'Why' }],
    [
      { error: 'a_b', message: 'Why' },
      { shape: 'own', code: 'a_b', text: 'Why' },
    ],
    [
      { code: 'a_b', message: 'Why' },
      { shape: 'own', code: 'a_b', text: 'Why' },
    ],
    [
      { code: 'a_b', message: 17 },
      { shape: 'own', code: 'a_b' },
    ],
    [{ error: { title: 'invalid_token' } }, { shape: 'own', code: 'invalid_token' }],
    [{ error: { title: 'Forbidden' } }, { shape: 'own', text: 'Forbidden' }],
    [
      { error: { validation: [{ field: 'since', title: 'odd' }, { detail: 'late' }, { field: 'limit' }] } },
      { shape: 'own', text: 'since: odd; late; limit' },
    ],
    [
      { error: { code: 'a_b', title: 'a_b', detail: 'Why', message: 'Why', validation: [{ field: 7 }] } },
      { shape: 'own', code: 'a_b', text: 'Why' },
    ],
    [{ error: { code: 'two words', type: 'a_b', title: 'T' } }, { shape: 'own', code: 'a_b', text: 'T' }],
    [{ error: { code: `a${'b'.repeat(63)}` } }, { shape: 'own', code: `a${'b'.repeat(63)}` }],
    [{ error: { code: `a${'b'.repeat(64)}` } }, { shape: 'own' }],
    [{ error: { code: null, status: 400 } }, { shape: 'own' }],
    [{ error: { validation: [] } }, { shape: 'other' }],
    [{ error: 'Not Found' }, { shape: 'other' }],
    [{ code: 'Not Found' }, { shape: 'other' }],
    [{ message: 'Why' }, { shape: 'other' }],
    [[], { shape: 'other' }],
    [null, { shape: 'other' }],
  ])('reads %j', (body, expected) => {
    expect(readErrorBody(JSON.stringify(body), known)).toEqual(expected);
  });

  it.each([
    ['', 'none'],
    [undefined, 'none'],
    ['  \n', 'none'],
    ['<html>', 'html'],
    ['\ufeff <?xml?>', 'html'],
    ['Service unavailable', 'other'],
    ['{"error":', 'other'],
  ])('tells %j to be %s', (body, shape) => {
    expect(readErrorBody(body, known)).toEqual({ shape });
  });
});

describe('whatever the service answers', () => {
  const problem = fc.record(
    {
      status: fc.oneof(fc.integer(), fc.string()),
      title: fc.option(fc.string()),
      detail: fc.jsonValue(),
      code: fc.oneof(fc.constantFrom('invalid_grant', 'invalid_token'), fc.jsonValue()),
      validation: fc.jsonValue(),
    },
    { requiredKeys: [] },
  );
  const body = fc.oneof(
    fc.string(),
    fc.json(),
    fc.record({ error: problem }).map((value) => JSON.stringify(value)),
    fc.record({ data: fc.record({ error: problem }) }).map((value) => JSON.stringify(value)),
    fc
      .record({ error: fc.jsonValue(), data: fc.jsonValue(), code: fc.jsonValue() })
      .map((v) => JSON.stringify(v)),
    fc.constant(`${'['.repeat(20_000)}`),
    fc.constant(`{"error":${'{"error":'.repeat(2_000)}1${'}'.repeat(2_000)}}`),
  );

  it('becomes a fault of a known kind, without the secret it may echo', () => {
    const secret = new Secret('sesame-open-77');
    fc.assert(
      fc.property(
        body,
        fc.integer({ min: 100, max: 999 }),
        fc.constantFrom('api' as const, 'token' as const),
        fc.option(fc.string(), { nil: undefined }),
        (text, status, endpoint, header) => {
          const echoing = text.replaceAll('a', secret.reveal());
          const headers = { 'retry-after': header, 'www-authenticate': header, date: header };

          const fault = faultOfAnswer(
            { status, body: echoing, head: { headers } },
            { what: 'GET /x', endpoint, secrets: [secret] },
            0,
          );

          expect(faultKinds).toContain(fault.code);
          expect(`${fault.message} ${fault.serviceCode}`).not.toContain(secret.reveal());
          expect(fault.message.length).toBeLessThan(420);
        },
      ),
    );
  });

  it('is an answer of the agreed shape or a typed fault', () => {
    const readers = [
      (answer: never) => pageIn(answer, asked, 1_000),
      (answer: never) => tokensIn(answer, asked.what, []),
      (answer: never) => listIn(answer, asked),
      (answer: never) => advertIn(answer, asked, '1'),
    ];
    const any = fc.oneof(
      body,
      fc.record({ data: fc.jsonValue(), hasMore: fc.jsonValue() }).map((v) => JSON.stringify(v)),
    );
    fc.assert(
      fc.property(any, fc.constantFrom(...readers), (text, read) => {
        try {
          read({ status: 200, body: text, head: { headers: {} } } as never);
        } catch (error) {
          expect(error).toBeInstanceOf(BridgeFault);
          expect(['transient', 'contract-broken']).toContain((error as BridgeFault).code);
        }
      }),
    );
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pairOf } from '../../../functions/refresh-token/token-pairs.ts';
import { BridgeFault, faultKinds } from '../../../shared/domain/faults.ts';
import { pairOfText, Secret, textOfPair } from '../../../shared/domain/secret.ts';
import { advertIn, tokensIn } from '../../../shared/partner-api/answers.ts';
import { faultOfAnswer, readErrorBody } from '../../../shared/partner-api/error-answers.ts';
import { knownCodes } from '../../../shared/partner-api/fault-table.ts';
import { tokenPair } from '../../helpers/records.ts';
import { errorOf, expectNoTrace, marker, nearlyRight, nearlyRightJson, oddValue } from './nearly-right.ts';

const token = new Secret('of-the-request');

const answer = (body: string) => ({ status: 200, body, head: { headers: {} } });
const kinds = ['transient', 'contract-broken'];

describe('an advert, nearly right', () => {
  const right = { data: { id: 123, status: 'active', title: 'A bicycle' } };

  it('is a status of at most 256 characters, or a typed fault', async () => {
    await fc.assert(
      fc.asyncProperty(nearlyRightJson(right), async (body) => {
        let status: string | undefined;
        const error = await errorOf(() => {
          ({ status } = advertIn(answer(body), { what: 'GET /advert', token }, '123'));
        });

        if (error === undefined) expect(status?.length).toBeLessThanOrEqual(256);
        else
          expect(error).toMatchObject({ name: 'BridgeFault', code: expect.stringMatching(kinds.join('|')) });
        expectNoTrace(error);
      }),
      { numRuns: 600 },
    );
  });

  it('is never taken for another advert', async () => {
    await fc.assert(
      fc.asyncProperty(oddValue, fc.bigInt({ min: 1n, max: 10n ** 20n - 1n }), async (id, asked) => {
        const error = await errorOf(() =>
          advertIn(
            answer(JSON.stringify({ data: { id, status: 'x' } })),
            { what: 'GET /advert', token },
            String(asked),
          ),
        );

        if (JSON.stringify(id) !== String(asked) && id !== String(asked))
          expect(error).toBeInstanceOf(BridgeFault);
      }),
      { numRuns: 300 },
    );
  });

  it('is read behind a byte order mark also where its ID is beyond 2^53', () => {
    const body = '\ufeff{"data":{"id":12345678901234567890,"status":"active"}}';

    expect(advertIn(answer(body), { what: 'GET /advert', token }, '12345678901234567890').status).toBe(
      'active',
    );
  });

  // SQLite would keep it as U+FFFD: the same status, a change with every fetch (see rows.test.ts).
  it('is refused where the status is not well-formed text', () => {
    expect(() =>
      advertIn(answer('{"data":{"id":1,"status":"\\ud800"}}'), { what: 'GET /advert', token }, '1'),
    ).toThrow(BridgeFault);
  });
});

describe('an answer of the token endpoint, nearly right', () => {
  const right = {
    access_token: `access-${marker}`,
    refresh_token: `refresh-${marker}-2`,
    expires_in: 86_400,
    token_type: 'bearer',
    scope: 'v2 read write',
  };
  const received = (body: string) => ({
    ...tokensIn(answer(body), 'POST /token', []),
    sentAt: 1_795_176_000_000,
    receivedAt: 1_795_176_000_100,
    serviceTime: 1_795_176_000_000,
  });

  it('is a pair that can be stored, or a fault that shows nothing of it', async () => {
    await fc.assert(
      fc.asyncProperty(nearlyRightJson(right), async (body) => {
        const error = await errorOf(() => {
          const pair = pairOf(received(body), tokenPair());
          if (!pair) throw new Error('no pair');
          textOfPair(tokenPair(pair));
        });

        if (error !== undefined) expect(kinds).toContain((error as BridgeFault).code);
        expectNoTrace(error);
      }),
      { numRuns: 600 },
    );
  });

  it('keeps its refresh token, whatever stands in the fields beside the access token', async () => {
    const { access_token, refresh_token, ...others } = right;
    await fc.assert(
      fc.asyncProperty(nearlyRight({ others }), async (mutated) => {
        const fields = (mutated as { others?: unknown } | null)?.others;
        const beside = typeof fields === 'object' && fields !== null ? fields : { expires_in: fields };
        const body = JSON.stringify({ ...beside, access_token, refresh_token });

        const pair = pairOf(received(body), tokenPair());

        expect(pair?.refreshToken.reveal()).toBe(refresh_token);
        expect(textOfPair(tokenPair(pair))).toContain(refresh_token);
      }),
      { numRuns: 400 },
    );
  });

  it('keeps its refresh token beside an access token that makes no sense, and the old access token', async () => {
    const nonsense = oddValue.filter((value) => typeof value !== 'string' || !/^[\x21-\x7e]+$/.test(value));
    await fc.assert(
      fc.asyncProperty(nonsense, async (access_token) => {
        const pair = pairOf(received(JSON.stringify({ ...right, access_token })), tokenPair());

        expect(pair?.refreshToken.reveal()).toBe(right.refresh_token);
        expect(pair?.accessToken.reveal()).toBe('access-1');
      }),
      { numRuns: 150 },
    );
  });

  it.each(['with a space', ' spaces at its ends ', 'quo"te\\and\nline', 'ünïcode ✓'])(
    'keeps a refresh token of any text to the last character: %j',
    (refresh_token) => {
      const pair = pairOf(received(JSON.stringify({ ...right, refresh_token })), tokenPair());

      const again = pairOfText(textOfPair(tokenPair(pair)), 'main');
      expect(again.refreshToken.reveal()).toBe(refresh_token);
    },
  );

  it('keeps the old refresh token where the new one makes no sense', async () => {
    const isText = (value: unknown) =>
      typeof value === 'string' && value.trim() !== '' && value.isWellFormed() && value.length <= 8192;
    const nonsense = oddValue.filter((value) => !isText(value));
    await fc.assert(
      fc.asyncProperty(nonsense, async (refresh_token) => {
        const pair = pairOf(received(JSON.stringify({ ...right, refresh_token })), tokenPair());

        expect(pair?.refreshToken.reveal()).toBe('refresh-1');
      }),
      { numRuns: 150 },
    );
  });
});

describe('an error body, nearly right', () => {
  const secret = new Secret(`token-${marker}`);
  const bodies = [
    {
      error: {
        status: 400,
        title: 'Bad',
        detail: `no ${secret.reveal()}`,
        validation: [{ field: 'since', detail: 'wrong' }],
      },
    },
    { data: { error: { code: 'invalid_token', detail: 'Why' } } },
    { error: 'invalid_grant', error_description: `${secret.reveal()} has expired` },
    { error: { type: 'not_found', message: 'Why' } },
    { code: 'validation_error', message: 'Why' },
  ];

  it('is a fault of a known kind without the secret that it echoes', async () => {
    const body = fc.constantFrom(...bodies).chain(nearlyRightJson);
    const status = fc.integer({ min: 300, max: 599 });
    await fc.assert(
      fc.asyncProperty(
        body,
        status,
        fc.constantFrom('api' as const, 'token' as const),
        async (text, code, endpoint) => {
          const fault = faultOfAnswer(
            { ...answer(text), status: code },
            { what: 'GET /x', endpoint, secrets: [secret] },
            0,
          );

          expect(faultKinds).toContain(fault.code);
          expect(fault.message).not.toContain(secret.reveal());
          expect(fault.message.length).toBeLessThan(420);
          expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
        },
      ),
      { numRuns: 600 },
    );
  });

  it('keeps its code, whatever stands in the fields beside it', async () => {
    await fc.assert(
      fc.asyncProperty(oddValue, oddValue, async (detail, validation) => {
        const own = readErrorBody(JSON.stringify({ error: { code: 'a_b', detail, validation } }), knownCodes);
        const oauth = readErrorBody(JSON.stringify({ error: 'a_b', error_description: detail }), knownCodes);

        expect([own.code, oauth.code]).toEqual(['a_b', 'a_b']);
      }),
      { numRuns: 300 },
    );
  });

  // A copy of the 2,000 fields for each of the 2,000 issues would take longer than a test may.
  it('is read in a time that grows with its length', () => {
    const many = Array.from({ length: 2_000 }, (_, index) => `"k${index}":1`).join();
    const text = `{"error":{"code":"a_b",${many},"validation":[${'1,'.repeat(2_000)}1]}}`;

    expect(readErrorBody(text, knownCodes)).toMatchObject({ code: 'a_b' });
  });
});

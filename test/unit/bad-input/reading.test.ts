/** Everything that is read from outside is what it should be, or is refused by an error that shows nothing of it. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { connectEvent } from '../../../functions/connect/requests.ts';
import { pairOf } from '../../../functions/refresh-token/token-pairs.ts';
import { deliveryOf } from '../../../shared/aws/sqs.ts';
import { checkedJson, ShapeError } from '../../../shared/contract/checks.ts';
import { type Envelope, envelope } from '../../../shared/contract/events.ts';
import { refreshEvent } from '../../../shared/contract/invocations.ts';
import { secretNames } from '../../../shared/contract/names.ts';
import { advertEvent, authorizationEvent } from '../../../shared/domain/advert-event.ts';
import { asBridgeFault, BridgeFault, faultKinds } from '../../../shared/domain/faults.ts';
import { applicationOfText, pairOfText, Secret, textOfPair } from '../../../shared/domain/secret.ts';
import { advertIn, pageIn, tokensIn } from '../../../shared/partner-api/answers.ts';
import { faultOfAnswer, readErrorBody } from '../../../shared/partner-api/error-answers.ts';
import { createAdvertHistories } from '../../../shared/state/advert-histories.ts';
import { createBudgetStore } from '../../../shared/state/budget.ts';
import { createFeedStates } from '../../../shared/state/feed-states.ts';
import { createPartnerAccounts } from '../../../shared/state/partner-accounts.ts';
import { createInMemoryStore } from '../../fakes/store.ts';
import { sentOf } from '../../helpers/partner-api/fixtures.ts';
import { changedAdvert, feedState, partnerAccount, tokenPair } from '../../helpers/records.ts';
import { errorOf, expectNoTrace, marker, nearlyRightJson, oddValue, recordOf } from './values.ts';

const token = new Secret(`token-${marker}`);
const advertOf = (body: string, id: string) => advertIn(sentOf(body, { secrets: [token] }), id);

const tokens = {
  ...{ access_token: `access-${marker}`, refresh_token: `refresh-${marker}-2` },
  ...{ expires_in: 86_400, token_type: 'bearer', scope: 'v2 read write' },
};
const pairIn = (body: string) =>
  pairOf(
    {
      ...tokensIn(sentOf(body)),
      ...{ sentAt: 1_795_176_000_000, receivedAt: 1_795_176_000_100, serviceTime: 1_795_176_000_000 },
    },
    tokenPair(),
  );

const errorBodies = [
  {
    error: {
      ...{ status: 400, title: 'Bad', detail: `no ${token.reveal()}` },
      validation: [{ field: 'since', detail: 'wrong' }],
    },
  },
  { data: { error: { code: 'invalid_token', detail: 'Why' } } },
  { error: 'invalid_grant', error_description: `${token.reveal()} has expired` },
  { error: { type: 'not_found', message: 'Why' } },
  { code: 'validation_error', message: 'Why' },
];

const seen = { bridge: 'AdvertBridge', previousStatus: 'new', sequence: 7, observedAt: 1_795_176_000_123 };
const change = {
  ...{ bridge: 'AdvertBridge', partnerAccount: 'main', generation: 1_763_640_000, tokenVersion: '3' },
  ...{ reason: 'scope-insufficient', observedAt: 1_795_176_000_123 },
};
const events: readonly Envelope[] = [
  advertEvent(changedAdvert(), { ...seen, status: 'active' }) as Envelope,
  advertEvent(changedAdvert(), { ...seen, status: null }) as Envelope,
  authorizationEvent('required', change),
  authorizationEvent('restored', change),
];

const pair = {
  ...{ accessToken: `access-${marker}`, refreshToken: `refresh-${marker}`, scope: 'v2 read write' },
  ...{ expiresAt: '2026-11-20T13:00:00.000Z', obtainedAt: '2026-11-20T12:00:00.000Z' },
  generation: 1_763_640_000,
};
const pairName = `${secretNames.partnerAccountPrefix}main`;
const refresh = { action: 'refresh', partnerAccount: 'main', rejectedVersion: '1', because: 'expired' };
const connects = [
  { action: 'connect', partnerAccount: 'main', refreshToken: `refresh-${marker}` },
  { action: 'connect', partnerAccount: 'main', code: `code-${marker}`, redirectUri: 'https://a.example' },
  { action: 'disconnect', partnerAccount: 'main', forget: true },
];

/** A store whose only row has this value. */
async function storeWith(kind: 'history' | 'feed' | 'account' | 'bridge', name: string, text: string) {
  const store = createInMemoryStore();
  await store.put({ kind, name }, JSON.parse(text), 'absent');
  return store;
}

/** Whatever the body of an error is, and the headers with the same text: the fault is a known one, and shows no secret. */
function expectKnownFaults(text: string): void {
  const headers = { 'retry-after': text, 'www-authenticate': text, date: text };
  for (const endpoint of ['api', 'token'] as const)
    for (const status of [100, 302, 400, 401, 403, 404, 409, 422, 429, 500, 503, 999]) {
      const sent = sentOf(text, { status, headers, secrets: [token] });
      const { code, message, serviceCode } = faultOfAnswer(sent, endpoint);

      expect(faultKinds).toContain(code);
      expect(`${message} ${serviceCode}`).not.toContain(token.reveal());
      expect(message.length).toBeLessThan(420);
    }
}

type Refusal = (error: Error) => void;
const faulty: Refusal = (error) => {
  expect(error).toBeInstanceOf(BridgeFault);
  expect(['transient', 'contract-broken', 'not-found']).toContain((error as BridgeFault).code);
  expect(error.message.length).toBeLessThan(1_000);
};
const malformed =
  (place: string): Refusal =>
  (error) => {
    expect(error).toBeInstanceOf(ShapeError);
    expect(error.message.startsWith(`${place}: `)).toBe(true);
    expect(error.cause).toBeUndefined();
  };
const asState: Refusal = (error) => {
  if (!(error instanceof SyntaxError))
    expect(asBridgeFault(error).code).toMatch(/^malformed-(state|application|pair)$/);
};

describe('what is nearly right is read, or refused without a word of it', () => {
  it.each<[string, readonly object[], (text: string) => unknown, Refusal]>([
    [
      'an advert',
      [{ data: { id: 123, status: 'active', title: 'A bicycle' } }],
      (text) => {
        expect(advertOf(text, '123').status).toMatch(/^\P{Cs}{1,256}$/u);
        // An advert is never taken for another one.
        expect(String(JSON.parse(text.replace('\ufeff', '')).data.id)).toBe('123');
      },
      faulty,
    ],
    ['the body of an error', errorBodies, expectKnownFaults, faulty],
    [
      'a page of the feed',
      [{ data: ['1', '22', '333'], hasMore: false, nextCursor: 'next' }],
      (text) =>
        expect(pageIn(sentOf(text, { secrets: [token] }))).toMatchObject({
          ...{ data: expect.any(Array), nextCursor: expect.any(String) },
        }),
      faulty,
    ],
    [
      'an answer of the token endpoint',
      [tokens],
      (text) => pairOfText(textOfPair(tokenPair(pairIn(text))), 'main'),
      faulty,
    ],
    ['an event', events, (text) => checkedJson(envelope, text, 'event'), malformed('event')],
    [
      'a message of the queue',
      [changedAdvert({ correlationId: `read-${marker}` })],
      (body) => {
        const { message, flaw } = deliveryOf({ messageId: 'id', receiptHandle: 'x', body, attributes: {} });
        if (flaw !== undefined) throw new Error(flaw);
        expect(message?.advertId).toMatch(/^\d{1,20}$/);
      },
      ({ message }) => expect(message).toMatch(/^message: /),
    ],
    [
      'a stored token pair',
      [pair],
      (text) => {
        const read = pairOfText(text, pairName);
        expect(pairOfText(textOfPair(read), 'main').refreshToken.equals(read.refreshToken)).toBe(true);
      },
      malformed(`secret ${pairName}`),
    ],
    [
      'the stored application',
      [{ clientId: `client-${marker}`, clientSecret: `hush-${marker}` }],
      (text) => applicationOfText(text, secretNames.application),
      malformed(`secret ${secretNames.application}`),
    ],
    [
      'an event of refresh-token',
      [refresh],
      (text) => checkedJson(refreshEvent, text, 'refresh-token event'),
      malformed('refresh-token event'),
    ],
    [
      'an event of connect',
      connects,
      (text) => checkedJson(connectEvent, text, 'event of connect'),
      malformed('event of connect'),
    ],
    [
      'the row of a feed',
      [{ ...feedState(), hush: marker }],
      async (text) => createFeedStates(await storeWith('feed', 'main/adverts', text)).list(),
      asState,
    ],
    [
      'the row of the rate budget',
      [{ nextSlotMs: 1_795_176_000_000, hush: marker }],
      async (text) => createBudgetStore(await storeWith('bridge', 'budget', text)).read(),
      asState,
    ],
    [
      'the row of a partner account',
      [{ ...partnerAccount(), hush: marker }],
      async (text) => createPartnerAccounts(await storeWith('account', 'main', text)).read('main'),
      asState,
    ],
    [
      'the history of an advert',
      [{ sequence: 7, status: 'active', envelope: '{}', by: 'read-0:1', pending: false }],
      async (text) =>
        createAdvertHistories(await storeWith('history', 'main/1/1', text)).read({
          ...{ partnerAccount: 'main', generation: 1, feed: 'adverts', advertId: '1' },
        }),
      asState,
    ],
  ])('%s', async (_what, rights, read, refusal) => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...rights).chain(nearlyRightJson), async (text) => {
        const error = await errorOf(() => read(text));

        if (!(error instanceof SyntaxError)) expectNoTrace(error);
        if (error !== undefined) refusal(error as Error);
      }),
      { numRuns: 400 },
    );
  });
});

it('a token response keeps its refresh token, whatever else it contains', async () => {
  const { access_token, refresh_token, ...others } = tokens;
  const isToken = (value: unknown) => typeof value === 'string' && /^[\x21-\x7e]+$/.test(value);
  const beside = recordOf([...Object.keys(others), 'x'], oddValue);
  const access = fc.oneof(
    fc.constant(access_token),
    oddValue.filter((value) => !isToken(value)),
  );
  await fc.assert(
    fc.asyncProperty(beside, access, async (odd, given) => {
      const read = pairIn(JSON.stringify({ ...odd, access_token: given, refresh_token }));

      expect(read?.refreshToken.reveal()).toBe(refresh_token);
      expect(read?.accessToken.reveal()).toBe(given === access_token ? access_token : 'access-1');
      expect(textOfPair(tokenPair(read))).toContain(refresh_token);
    }),
    { numRuns: 400 },
  );
});

// A copy of the 2,000 fields for each of the 2,000 issues would take longer than a test may.
it('an error body is read in a time that grows with its length', () => {
  const many = Array.from({ length: 2_000 }, (_, index) => `"k${index}":1`).join();
  const text = `{"error":{"code":"a_b",${many},"validation":[${'1,'.repeat(2_000)}1]}}`;

  expect(readErrorBody(text)).toMatchObject({ code: 'a_b' });
});

// The time would become NaN, which DynamoDB cannot store, and no refresh would ever end.
it('a stored token pair is refused where a time in it cannot be', async () => {
  const text = JSON.stringify({ ...pair, expiresAt: '2026-13-45T99:99:99Z' });

  expect(asBridgeFault(await errorOf(() => pairOfText(text, pairName))).code).toBe('malformed-pair');
});

// A union would have one issue for all of its members, "expected Object", and no place.
it.each([
  ['rejectedVersion', refreshEvent, { ...refresh, rejectedVersion: 5 }],
  ['forget', connectEvent, { ...connects[2], forget: 'yes' }],
])('an event whose field %s is of another type names it', async (field, schema, event) => {
  const error = await errorOf(() => checkedJson(schema, JSON.stringify(event), 'event'));

  expect((error as Error).message).toContain(field);
});

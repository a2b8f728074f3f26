import { expect, it } from 'vitest';
import { copyFields } from '../../../../shared/domain/advert-event.ts';
import { BridgeFault } from '../../../../shared/domain/faults.ts';
import { Secret } from '../../../../shared/domain/secret.ts';
import { advertIn, listIn, pageIn, tokensIn } from '../../../../shared/partner-api/answers.ts';
import { sentOf } from '../../../helpers/partner-api/fixtures.ts';

const secret = 'hush-hush-0123456789';
const answer = (body: unknown) => sentOf(body, { secrets: [new Secret(secret)] });
function faultOf(read: () => unknown): BridgeFault {
  try {
    read();
  } catch (fault) {
    if (fault instanceof BridgeFault) return fault;
    throw fault;
  }
  throw new Error('no fault');
}
const page = { data: ['1'], hasMore: false, nextCursor: 'n' };
const longId = '90071992547409931';
const tokens = { access_token: 'a1', refresh_token: 'r1' };

it('an answer may begin with a byte order mark', () => {
  expect(pageIn(answer(`\ufeff${JSON.stringify(page)}`))).toEqual(page);
});

it.each(['', '{"access_token":"precious"', '\ufeff\ufeff{}'])(
  'an answer that is not JSON is transient, its text not shown: %j',
  (body) => {
    const fault = faultOf(() => tokensIn(sentOf(body, { status: 201 })));

    expect(fault).toMatchObject({ code: 'transient', status: 201, cause: undefined });
    expect(fault.message).toBe('GET /x answered 201 with something that is not JSON');
  },
);

it.each<[string, () => unknown, RegExp]>([
  ['larger than the limit', () => listIn(answer(undefined)), /larger than the limit/],
  ['a page of another shape', () => pageIn(answer({ ...page, hasMore: 'hush' })), /hasMore/],
  [
    'a page of more than 1,000 entries',
    () => pageIn(answer({ ...page, data: Array(1_001).fill(1) })),
    /1000 entries/,
  ],
  ...[undefined, '', 'x\ud800', 'c'.repeat(4097), '\u017c'.repeat(2049)].map(
    (nextCursor): [string, () => unknown, RegExp] => [
      `a page with the cursor ${nextCursor?.slice(0, 9)}`,
      () => pageIn(answer({ ...page, nextCursor })),
      /nextCursor/,
    ],
  ),
  ...[
    { id: 8, status: 'new' },
    { id: '07', status: 'new' },
    { id: 7.5, status: 'new' },
    { id: 7, status: '' },
    // SQLite would keep it as U+FFFD: the same status, a change with every fetch.
    { id: 7, status: '\ud800' },
    { id: 7, status: 3 },
    { id: 7, status: 'x'.repeat(257) },
  ].map((data): [string, () => unknown, RegExp] => [
    `the advert ${JSON.stringify(data).slice(0, 30)} for 7`,
    () => advertIn(answer({ data }), '7'),
    /data\.(id|status)/,
  ]),
  ['nothing but null', () => advertIn(answer('null'), '7'), /expected Object/],
  ['an advert in a list', () => advertIn(answer({ data: [{ id: 7, status: 'new' }] }), '7'), /data/],
  ['an advert without data', () => advertIn(answer({ id: 7, status: 'new' }), '7'), /data/],
  ['no token at all', () => tokensIn(answer({ scope: 'v2' })), /access_token/],
])('an answer with %s is contract-broken, and names the place alone', (_what, read, place) => {
  const fault = faultOf(read);

  expect(fault).toMatchObject({ code: 'contract-broken', status: 200 });
  expect(fault.message).toMatch(/^GET \/x: /);
  expect(fault.message).toMatch(place);
  expect(fault.message).not.toMatch(/hush/);
  expect(fault.message.length).toBeLessThan(200);
});

it('a page longer than the limit asked for is read up to 1,000 entries', () => {
  const { data } = pageIn(answer({ ...page, data: Array(1_000).fill('1') }));

  expect(data).toHaveLength(1_000);
});

it.each([
  [204, ''],
  [200, { data: null }],
  [200, { data: [] }],
])('an advert is gone when the answer is %i %j', (status, body) => {
  const fault = faultOf(() => advertIn(sentOf(body, { status }), '7'));

  expect(fault).toMatchObject({ code: 'not-found', status });
});

it.each([
  [`{"data":{"id":${longId},"status":"new"}}`, true],
  [`\ufeff{"data":{"id":"${longId}","status":"new"}}`, true],
  ['{"data":{"id":90071992547409932,"status":"new"}}', false],
  ['{"data":{"id":9.0071992547409931e16,"status":"new"}}', false],
  [`{"data":{"category":{"id":${longId}},"id":90071992547409932,"status":"new"}}`, false],
])('an ID beyond 2^53 is compared digit by digit: %s', (body, isSame) => {
  const read = () => advertIn(answer(body), longId);

  if (isSame) expect(read().status).toBe('new');
  else expect(faultOf(read).code).toBe('contract-broken');
});

it.each([
  ['{"data":{"id":9007199254740993,"status":"new"}}', '9007199254740993'],
  ['{"data":{"id" :\n9007199254740993,"status":"new"}}', '9007199254740993'],
  ['{"data":{"id":999999999999999,"status":"new"}}', '999999999999999'],
])('an ID of 16 digits and more is exact: %s', (body, id) => {
  expect(advertIn(answer(body), id).status).toBe('new');
});

it('an advert is given as it was sent, or not at all when nested too deep', () => {
  const data = { id: 7, status: 'new', price: 12.5, more: [null, { id: 1 }] };
  expect(advertIn(answer({ data }), '7').advert?.()).toEqual(data);

  const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`;
  const { advert } = advertIn(answer(`{"data":{"id":"7","status":"new","x":${deep}}}`), '7');
  expect(advert?.()).toBeInstanceOf(Secret);
});

it.each<[string, object, object, string[]]>([
  [
    'all fields',
    { ...tokens, expires_in: '60', scope: 'v2', token_type: 'Bearer' },
    { ...tokens, expires_in: 60, scope: 'v2', token_type: 'bearer' },
    [],
  ],
  ['an access token alone', { access_token: 'a1' }, { access_token: 'a1' }, []],
  ['a refresh token alone', { refresh_token: 'r1' }, { refresh_token: 'r1' }, []],
  ['empty fields', { ...tokens, scope: '', expires_in: null }, tokens, []],
  [
    'unusable fields',
    { ...tokens, scope: 7, expires_in: -1, token_type: {} },
    tokens,
    ['expires_in', 'token_type', 'scope'],
  ],
  ['an unusable access token', { ...tokens, access_token: 'a b' }, { refresh_token: 'r1' }, ['access_token']],
  ['a scope with a secret of the request', { ...tokens, scope: secret }, tokens, ['scope']],
  [
    'a scope with a token beside it',
    { ...tokens, access_token: 'token-abcdefghijk', scope: 'token-abcdefghijk' },
    { ...tokens, access_token: 'token-abcdefghijk' },
    ['scope'],
  ],
])('tokens are read with %s', (_what, body, read, unusable) => {
  const found = tokensIn(answer(body));

  expect(JSON.parse(JSON.stringify(found.answer))).toEqual(read);
  expect(found.unusable).toEqual(unusable);
});

it('an answer without a token is the error in it', () => {
  const fault = faultOf(() => tokensIn(answer({ error: 'invalid_grant' })));
  expect(fault).toMatchObject({ code: 'grant-rejected', status: 200, serviceCode: 'invalid_grant' });
});

it('an ID beyond 2^53 is listed as written, an entry without one as it is', () => {
  const body = `{"data":[1,"2",{"id":${longId}},{"id":"5"},{"id":null},1.5,null,"x"]}`;

  expect(listIn(answer(body)).data).toEqual(['1', '2', longId, '5', { id: null }, 1.5, null, 'x']);
});

it('deeply nested data does not hide what stands beside it', () => {
  const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`;

  expect(advertIn(answer(`{"data":{"id":"7","status":"new","x":${deep}}}`), '7').status).toBe('new');
  expect(listIn(answer(`{"data":[{"id":3},${deep}]}`)).data[0]).toBe('3');
});

it.each([secret, secret.toUpperCase(), encodeURIComponent(`<${secret}>`), btoa(`"${secret}"`)])(
  'an echoed token is shown nowhere: %s',
  (form) => {
    const data = ['17', `no-id ${form}`, { [form]: 1 }, ['x', form], 'no-id'];
    for (const { data: entries } of [pageIn(answer({ ...page, data })), listIn(answer({ data }))]) {
      expect([entries.length, entries[0], entries[4]]).toEqual([5, '17', 'no-id']);
      expect(JSON.stringify(entries)).not.toContain(form);
    }

    const faults = [
      faultOf(() => pageIn(answer({ ...page, nextCursor: `cursor-${form}` }))),
      faultOf(() => advertIn(answer({ data: { id: 7, status: `new ${form}` } }), '7')),
    ];
    expect(faults.map(({ code }) => code)).toEqual(['contract-broken', 'contract-broken']);
    expect(faults.join()).not.toContain(form);

    const fields = {
      title: 'bicycle',
      none: null,
      note: form,
      price: { value: 1, by: [form] },
      own: { [form]: 1 },
    };
    const { advert } = advertIn(answer({ data: { id: 7, status: 'new', ...fields } }), '7');
    expect(copyFields(advert?.(), ['title', 'note', 'price', 'price.value', 'own'])).toEqual({
      fields: { title: 'bicycle', 'price.value': 1 },
      fieldsLeftOut: ['note', 'price', 'own'],
    });
  },
);

it.each(['"', ''])('no digit of an echoed token is shown in what is no ID: in %j', (quote) => {
  const digits = '73190482659127743018265590127346';
  const body = `{"data":["17",${quote}${digits}${quote}],"hasMore":false,"nextCursor":"n"}`;

  const { data } = pageIn(sentOf(body, { secrets: [new Secret(digits)] }));

  expect(data).toEqual(['17', '[redacted]']);
});

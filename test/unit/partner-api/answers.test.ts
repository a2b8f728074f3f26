import { describe, expect, it } from 'vitest';
import { copyFields } from '../../../shared/domain/advert-event.ts';
import { BridgeFault } from '../../../shared/domain/faults.ts';
import { Secret } from '../../../shared/domain/secret.ts';
import { advertIn, listIn, pageIn, tokensIn } from '../../../shared/partner-api/answers.ts';
import type { Answer } from '../../../shared/partner-api/transport.ts';

const token = new Secret('of-the-request');

const what = 'GET /x';
const answer = (body: unknown, status = 200): Answer => ({
  status,
  body: typeof body === 'string' || body === undefined ? body : JSON.stringify(body),
  head: { headers: {} },
});
const faultOf = (read: () => unknown): BridgeFault => {
  try {
    read();
  } catch (fault) {
    if (fault instanceof BridgeFault) return fault;
    throw fault;
  }
  throw new Error('no fault');
};
const page = { data: ['1'], hasMore: false, nextCursor: 'n' };
/** Nested too deep for what gives each ID as it was written. */
const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`;

describe('an answer', () => {
  it('may begin with a byte order mark', () => {
    expect(pageIn(answer(`\ufeff${JSON.stringify(page)}`), { what, token }, 10)).toEqual(page);
    const longId = '90071992547409931';
    expect(
      advertIn(answer(`\ufeff{"data":{"id":${longId},"status":"new"}}`), { what, token }, longId).status,
    ).toBe('new');
  });

  it('that is no JSON is a passing fault, with its status and without what it says', () => {
    for (const body of ['', '{"access_token":"precious"', '\ufeff\ufeff{}']) {
      const fault = faultOf(() => tokensIn(answer(body, 201), what, []));
      expect(fault).toMatchObject({ code: 'transient', status: 201, cause: undefined });
      expect(fault.message).toBe('GET /x answered 201 with something that is not JSON');
    }
  });

  it('larger than the limit is of no agreed shape', () => {
    const fault = faultOf(() => listIn(answer(undefined), { what, token }));
    expect(fault).toMatchObject({ code: 'contract-broken', status: 200 });
    expect(fault.message).toBe('GET /x: the answer is larger than the limit');
  });

  it('of another shape is told by the place, with what found it', () => {
    const fault = faultOf(() => pageIn(answer({ ...page, hasMore: 'precious' }, 203), { what, token }, 10));

    expect(fault).toMatchObject({ code: 'contract-broken', status: 203, cause: { code: 'wrong-shape' } });
    expect(fault.message).toMatch(/hasMore/);
    expect(fault.message).not.toMatch(/precious/);
  });
});

describe('the status of an advert', () => {
  it('is that of the ID asked for, by number or by text', () => {
    expect(advertIn(answer({ data: { id: 7, status: 'new' } }), { what, token }, '7').status).toBe('new');
    expect(
      advertIn(
        answer({ data: { id: '90071992547409931', status: 'new' } }),
        { what, token },
        '90071992547409931',
      ).status,
    ).toBe('new');
  });

  it('is told by an ID as text, however deep the rest is nested', () => {
    const body = `{"data":{"id":"7","status":"new","x":${deep}}}`;

    expect(advertIn(answer(body), { what, token }, '7').status).toBe('new');
  });

  it.each([
    ['another one', '{"data":{"id":90071992547409932,"status":"new"}}'],
    ['one that was rounded on its way', '{"data":{"id":9.0071992547409931e16,"status":"new"}}'],
    [
      'one beside what is nested too deep to tell',
      `{"data":{"id":90071992547409931,"status":"new","x":${deep}}}`,
    ],
  ])('is none where the ID is %s', (_what, body) => {
    const fault = faultOf(() => advertIn(answer(body), { what, token }, '90071992547409931'));

    expect(fault).toMatchObject({ code: 'contract-broken', status: 200 });
    expect(fault.message).toBe('GET /x: data.id: expected the ID asked for');
  });
});

describe('the list of adverts', () => {
  it('has the ID of each entry as it was written, and what has none as it is', () => {
    const body =
      '{"data":[1,"2",90071992547409931,{"id":90071992547409933},{"id":"5"},{"id":null},1.5,null,"x"]}';

    expect(listIn(answer(body), { what, token }).data).toEqual([
      ...['1', '2'],
      // As a JSON number it was rounded, so it is no longer a valid ID and is counted as malformed.
      Number('90071992547409931'),
      ...['90071992547409933', '5'],
      ...[{ id: null }, 1.5, null, 'x'],
    ]);
  });

  it('is read where an entry is nested too deep, and that entry stays as it is', () => {
    const { data } = listIn(answer(`{"data":[{"id":3},${deep}]}`), { what, token });

    expect(data[0]).toBe('3');
    expect(data).toHaveLength(2);
  });
});

describe('an answer that repeats the token of the request', () => {
  const secret = 'hush-hush-0123456789';
  const asked = { what, token: new Secret(secret) };
  const forms = [secret, secret.toUpperCase(), encodeURIComponent(`<${secret}>`), btoa(`"${secret}"`)];

  it.each(forms)('has it in no entry that is shown: %s', (form) => {
    const data = ['17', `no-id ${form}`, { [form]: 1 }, ['x', form], 'no-id'];
    const shown = [pageIn(answer({ ...page, data }), asked, 10), listIn(answer({ data }), asked)];

    for (const { data: entries } of shown) {
      expect(entries).toHaveLength(5);
      expect([entries[0], entries[4]]).toEqual(['17', 'no-id']);
      expect(JSON.stringify(entries)).not.toContain(form);
    }
  });

  it.each(forms)('is of the wrong shape with it in the cursor or the status: %s', (form) => {
    const faults = [
      faultOf(() => pageIn(answer({ ...page, nextCursor: `cursor-${form}` }), asked, 10)),
      faultOf(() => advertIn(answer({ data: { id: 7, status: `new ${form}` } }), asked, '7')),
    ];

    for (const fault of faults) {
      expect(fault).toMatchObject({ code: 'contract-broken' });
      expect(String(fault)).not.toContain(form);
    }
  });

  it.each(forms)('gives no field with it to an event: %s', (form) => {
    const fields = { title: 'bicycle', note: form, price: { value: 1, by: [form] }, own: { [form]: 1 } };
    const { advert } = advertIn(answer({ data: { id: 7, status: 'new', ...fields } }), asked, '7');

    const copied = copyFields(advert?.(), ['title', 'note', 'price', 'price.value', 'own', `own.${form}`]);
    expect(copied).toEqual({
      fields: { title: 'bicycle', 'price.value': 1 },
      fieldsLeftOut: ['note', 'price', 'own', `own.${form}`],
    });
  });
});

describe('tokens', () => {
  const good = { access_token: 'access-2', refresh_token: 'refresh-2', token_type: 'bearer', expires_in: 60 };
  const read = (body: object, ...secrets: string[]) =>
    tokensIn(
      answer(body),
      what,
      secrets.map((secret) => new Secret(secret)),
    );

  it('are told without the fields that are there and make no sense', () => {
    expect(read({ ...good, expires_in: 'soon', scope: 17 })).toEqual({
      answer: { ...good, expires_in: undefined, scope: undefined },
      unusable: ['expires_in', 'scope'],
    });
    expect(read({ ...good, expires_in: null, scope: '' }).unusable).toEqual([]);
    expect(read({ access_token: 'access-2' })).toMatchObject({
      answer: { access_token: 'access-2' },
      unusable: [],
    });
  });

  it('are there when one of the two is', () => {
    expect(read({ refresh_token: 'r' }).answer).toMatchObject({ refresh_token: 'r' });
    expect(faultOf(() => read({ scope: 'v2' }))).toMatchObject({ code: 'contract-broken', status: 200 });
  });

  it.each([
    ['v2 read', ['hush'], 'v2 read'],
    ['v2 hush', ['hush'], undefined],
    ['v2 un-HUSH-ed', ['hush'], undefined],
    ['v2 hush', ['HUSH'], undefined],
    ['v2 %68u%53h', ['hush'], undefined],
    ['v2 hu', ['hu'], 'v2 hu'],
    ['v2 hus', ['hus'], 'v2 hus'],
    ['v2 a%2fb%2Fc', ['a/b/c'], undefined],
    ['v2 a%2fb%2Fc', ['a%2fb%2fc'], undefined],
    ['v2 ACCESS-2', [], undefined],
    ['v2 refresh-2', [], undefined],
  ])('have the scope %j beside the secrets %j as %j', (scope, secrets, expected) => {
    const { answer: told, unusable } = read({ ...good, scope }, ...secrets);

    expect(told).toEqual({ ...good, scope: expected });
    expect(unusable).toEqual(expected === undefined ? ['scope'] : []);
  });
});

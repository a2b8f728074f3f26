import { spawnSync } from 'node:child_process';
import { inspect } from 'node:util';
import { expect, it } from 'vitest';
import {
  redact,
  redactedError,
  redactedText,
  repeatsSecret,
  withoutNamedValues,
  withoutSecrets,
} from '../../../../shared/domain/redaction.ts';
import { Secret } from '../../../../shared/domain/secret.ts';

const gone = '[redacted]';
const base64 = (text: string, encoding: BufferEncoding = 'utf8') =>
  Buffer.from(text, encoding).toString('base64');
const secret = 'Zx9.kQ2-wT7_';
const nineTimes = (text: string) => Array.from({ length: 9 }).reduce<string>(encodeURIComponent, text);

// All encodings and their combinations: the tests of cleanText.
it.each([
  ['as it is', secret, secret],
  ['with its end cut off', secret.slice(0, 8), secret],
  ['of four characters', 'wxyz', 'wxyz'],
  ['with spaces, as a form writes it', 'code+word', 'code word'],
  ['that looks encoded itself, decoded', 'ab/cd/ef', 'ab%2Fcd%2Fef'],
  ['with letters that have more than one form', 'STRASSE-łodz', 'Straße-Łódź'],
  ...['', 'x', 'xy', 'xyz'].map((before) => [
    `in base64 behind "${before}"`,
    before + base64(secret),
    secret,
  ]),
  ['in base64 of UTF-16', base64(secret, 'utf16le'), secret],
  ['in base64 of base64', base64(`x${base64(`y${secret}`)}`), secret],
  ['perhaps, when it is encoded too often', nineTimes('harmless %'), secret],
  ['perhaps, when it becomes far longer', '\ufdfa'.repeat(100), secret],
  ['perhaps, in base64 of what is encoded too often', base64(nineTimes('%')), secret],
])('a secret is seen in %s', (_case, text, value) => {
  expect(repeatsSecret(`a: ${text}. b`, [new Secret('another'), new Secret(value as string)])).toBe(true);
});

it.each([
  ['by seven characters of a longer one', secret.slice(0, 7), secret],
  ['by three characters', 'xyz', 'xyz'],
  ['by a part of a short one', 'tuvwxy uvwxyz', 'tuvwxyz'],
  ['by base64 of something else', base64('nothing that is of any interest'), secret],
  ['by base64 three deep', base64(base64(base64(secret))), secret],
])('no secret is seen in %s', (_case, text, value) => {
  expect(repeatsSecret(`a: ${text}. b`, [new Secret(value)])).toBe(false);
});

it('a secret is looked for in a long text without much memory', () => {
  const domain = new URL('../../../../shared/domain/', import.meta.url);
  const script = `import { repeatsSecret } from '${domain}redaction.ts';
      import { Secret } from '${domain}secret.ts';
      console.log(repeatsSecret('ab3'.repeat(500_000), [new Secret('s3cret-of-the-user')]));`;
  const options = ['--max-old-space-size=40', '--input-type=module', '--eval', script];
  expect(spawnSync(process.execPath, options, { encoding: 'utf8' })).toMatchObject({
    status: 0,
    stdout: 'false\n',
  });
});

it('redaction keeps the text around a secret as it is', () => {
  const clean = (text: string) => withoutSecrets(text, [new Secret(secret), new Secret('two-two-two')]);

  expect(clean(`%41 ${secret} two-two-two${secret} b`)).toBe(`A ${gone} ${gone}${gone} b`);
  expect(clean(`a ${secret.toUpperCase()} b`)).toBe(gone);
  expect(clean(nineTimes('harmless %'))).toBe(gone);
});

it.each([
  ['id_token=abcdef&x=1', `id_token=${gone}&x=1`],
  ['csrf-token: abc, x', `csrf-token: ${gone}, x`],
  ["passwd='abc def' x", `passwd='${gone}' x`],
  ['{\\"secret\\":\\"a b\\",\\"x\\":1}', `{\\"secret\\":\\"${gone}\\",\\"x\\":1}`],
  ['{"secret":"a\\nb","x":1}', `{"secret":"${gone}","x":1}`],
  ['{"secret": 17}', `{"secret": ${gone}}`],
  ['API-Key = abc', `API-Key = ${gone}`],
  ['Authorization: Basic abc x', `Authorization: Basic ${gone} x`],
  ['Bearer abc', `Bearer ${gone}`],
  ['token=abc', `token=${gone}`],
  ["'code':'abc'", `'code':'${gone}'`],
  ['code=abc', `code=${gone}`],
  ['token: ab.cd12', `token: ${gone}`],
  ['the token abc_def', `the token ${gone}`],
])('the value of what is called a secret is left out: %s', (text, clean) => {
  expect(withoutNamedValues(text)).toBe(clean);
});

it.each([
  'the token was used',
  'the secret is wrong',
  'token: no answer',
  'code=ETIMEDOUT',
  'code="wrong-shape"',
  'code=404',
  'bearer tokens are sent',
  'Bearer realm="x"',
  'the token a-b',
  'nothing of that kind = abc',
])('a sentence about secrets stays: %s', (text) => {
  expect(withoutNamedValues(text)).toBe(text);
});

const printed = (value: unknown) => JSON.stringify(value, redact);

it.each([
  { nested: [{ Authorization: 'hidden-one' }] },
  { 'set-cookie': ['hidden-one'] },
  { code: 'hidden-one', csrfToken: 'hidden-one', client_secret: 'hidden-one', 'x-api-key': 'hidden-one' },
  { secret: new Secret('hidden-one') },
  { url: 'http://127.0.0.1/callback?code=hidden-one&state=x' },
  { text: 'PASSWORD=hidden-one' },
  { text: '{"body":"{\\"password\\":\\"hidden-one\\"}"}' },
  { text: 'refresh%5ftoken%253Dhidden-one' },
  { text: '&quot;access_token&quot;:&#x22;hidden-one&quot;' },
  { text: 'pass\u200bword=hidden-one' },
])('the secret of %j is left out', (value) => {
  expect(printed(value)).not.toContain('hidden-one');
  expect(printed(value)).toContain('[redacted]');
});

it('redaction keeps what an operator looks for', () => {
  const fields = {
    partnerAccount: 'main',
    tokenVersion: 'version-1',
    code: 'grant-rejected',
    cause: { code: 'ECONNRESET' },
    status: 401,
    reason: 'the token endpoint answered invalid_grant, code 400',
  };
  expect(JSON.parse(printed(fields) ?? '')).toEqual(fields);
});

it('an error that leaves a function has name, message and stack only', () => {
  const cause = new Error('Bearer hidden-one');
  const headers = { authorization: 'hidden-one' };
  const error = Object.assign(new TypeError('id_token=hidden-one', { cause }), { headers });

  const clean = redactedError(error);

  expect(inspect(clean, { depth: 20, showHidden: true })).not.toContain('hidden-one');
  expect(clean).toMatchObject({ name: 'TypeError', message: 'id_token=[redacted]' });
  expect(clean.stack).toContain('redaction.test.ts');
  expect(redactedError('token=hidden-one').message).toBe('token=[redacted]');
});

it.each([
  'token',
  'token:',
  'password ',
  "secret'\\",
  'secret"\\\\',
  'code:,',
  '\\',
  '&',
  '%',
  'a_token',
  'bearer\t',
])('redaction of a hostile text ends: %j, a million characters of it', (piece) => {
  expect(redactedText(piece.repeat(1_000_000 / piece.length)).length).toBeGreaterThan(0);
});

import { describe, expect, it } from 'vitest';
import { isErrorCode, withoutNamedValues, withoutSecrets } from '../../../shared/domain/redaction.ts';
import { Secret } from '../../../shared/domain/secret.ts';

const gone = '[redacted]';
const base64 = (text: string, encoding: BufferEncoding = 'utf8') =>
  Buffer.from(text, encoding).toString('base64');

describe('a text without secrets', () => {
  const value = 'Zx9.kQ2-wT7_';
  const clean = (text: string, ...secrets: string[]) =>
    withoutSecrets(
      text,
      (secrets.length > 0 ? secrets : [value]).map((one) => new Secret(one)),
    );

  it.each([
    ['in the middle', `a ${value} b`, `a ${gone} b`],
    ['at the beginning', `${value} b`, `${gone} b`],
    ['at the end', `a ${value}`, `a ${gone}`],
    ['alone', value, gone],
    ['twice', `${value} and ${value}.`, `${gone} and ${gone}.`],
    ['twice in a row', `a ${value}${value} b`, `a ${gone} b`],
    ['with its beginning cut off', `a ${value.slice(4)} b`, `a ${gone} b`],
    ['with its end cut off', `a ${value.slice(0, 8)} b`, `a ${gone} b`],
    ['in another case', `a ${value.toUpperCase()} b`, `a ${gone} b`],
    ['with spaces between', `a ${[...value].join(' ')} b`, `a ${gone} b`],
    [
      'with control characters and backslashes between',
      `a ${[...value].join('\\\u0001\u007f')} b`,
      `a ${gone} b`,
    ],
    ['with accents on it', `a ${[...value].join('\u0301')} b`, `a ${gone} b`],
    ['percent-encoded', `a ${value.replaceAll('.', '%2E')} b`, `a ${gone} b`],
  ])('has it not %s', (_case, text, expected) => {
    expect(clean(text)).toBe(expected);
  });

  it('keeps seven characters of a longer one, and says what else the text says', () => {
    expect(clean(`a ${value.slice(0, 7)} %41`)).toBe(`a ${value.slice(0, 7)} A`);
  });

  it.each([
    ['three characters are not looked for', 'xyz', 'xyz!', 'xyz!'],
    ['four characters are', 'wxyz', 'wxyz wxy!', `${gone} wxy!`],
    ['of seven all have to be there', 'tuvwxyz', 'tuvwxyz tuvwxy uvwxyz', `${gone} tuvwxy uvwxyz`],
  ])('of a short one: %s', (_case, secret, text, expected) => {
    expect(clean(text, secret)).toBe(expected);
  });

  it('has none of several', () => {
    expect(clean('one-one-one two-two-two three', 'two-two-two', 'one-one-one')).toBe(
      `${gone} ${gone} three`,
    );
  });

  it.each([
    ['with spaces, as a form writes it', 'code word', 'a code+word b', `a ${gone} b`],
    ['that looks encoded itself', 'ab%2Fcd%2Fef', 'a ab/cd/ef b ab%2Fcd%2Fef', `a ${gone} b ${gone}`],
    ['with letters that have more than one form', 'Straße-Łódź', 'a STRASSE-łodz b', 'a [redacted] b'],
  ])('has not one %s', (_case, secret, text, expected) => {
    expect(clean(text, secret)).toBe(expected);
  });

  it.each(['', 'i', 'id', 'id:', 'id: '])('has it not in base64 behind %j', (before) => {
    const text = base64(`${before}${value}, and so on`);

    expect(clean(`a: ${text}. b`)).toMatch(/^a: \[redacted\]=*\. b$/);
  });

  it.each([
    ['with line breaks', base64(`the value ${value} here`).replace(/.{10}/g, '$&\r\n')],
    [
      'with line breaks, in JSON in JSON',
      base64(`the value ${value} here`).replace(/.{10}/g, '$&\\\\r\\\\n'),
    ],
    ['for URLs', Buffer.from(`???>>>${value}`).toString('base64url')],
    ['of UTF-16', base64(value, 'utf16le')],
    ['of base64', base64(`x${base64(`y${value}`)}`)],
    ['of percent encoding', base64(`a ${value.replaceAll('.', '%2E')}`)],
    [
      'of what is encoded too often',
      base64(Array.from({ length: 9 }).reduce<string>(encodeURIComponent, '%')),
    ],
  ])('has it not in base64 %s', (_case, text) => {
    expect(clean(`a: ${text} !`)).toMatch(/^a: \[redacted\]=* !$/);
  });

  it.each([
    ['of something else', base64('nothing that is of any interest')],
    ['three deep', base64(base64(base64(value)))],
  ])('keeps base64 %s', (_case, text) => {
    expect(clean(`a: ${text} !`)).toBe(`a: ${text} !`);
  });

  it('is nothing at all when it is encoded too often', () => {
    expect(clean(Array.from({ length: 9 }).reduce<string>(encodeURIComponent, 'harmless %'))).toBe(gone);
  });
});

describe('a text without the values of what is called a secret', () => {
  it.each([
    ['id_token=abcdef&x=1', `id_token=${gone}&x=1`],
    ['csrf-token: abc, x', `csrf-token: ${gone}, x`],
    ['password=abc;x', `password=${gone};x`],
    ['passwd="abc def" x', `passwd="${gone}" x`],
    ["passwd='abc def' x", `passwd='${gone}' x`],
    ['{"secret":"a b","x":1}', `{"secret":"${gone}","x":1}`],
    ['{\\"secret\\":\\"a b\\",\\"x\\":1}', `{\\"secret\\":\\"${gone}\\",\\"x\\":1}`],
    ['{"secret":"a\\nb","x":1}', `{"secret":"${gone}","x":1}`],
    ["{'secret' : 'a\\tb'}", `{'secret' : '${gone}'}`],
    ['{"secret": 17}', `{"secret": ${gone}}`],
    ['API-Key = abc', `API-Key = ${gone}`],
    ['apikey: abc', `apikey: ${gone}`],
    ['Cookie: a=b; c', `Cookie: ${gone}; c`],
    ['Authorization: Basic abc x', `Authorization: Basic ${gone} x`],
    ['authorization=bearer abc', `authorization=bearer ${gone}`],
    ['Bearer abc', `Bearer ${gone}`],
    ['basic abc', `basic ${gone}`],
    ['token=abc', `token=${gone}`],
    ['"token": "abc"', `"token": "${gone}"`],
    ["'code':'abc'", `'code':'${gone}'`],
    ['code=abc', `code=${gone}`],
    ['token: ab.cd12', `token: ${gone}`],
    ['the token abc_def', `the token ${gone}`],
    ['the secret abc123', `the secret ${gone}`],
  ])('has it not: %s', (text, clean) => {
    expect(withoutNamedValues(text)).toBe(clean);
  });

  it.each([
    'the token was used',
    'the secret is wrong',
    'token: no answer',
    'code: unknown',
    'code=ETIMEDOUT',
    'code="wrong-shape"',
    'code=404',
    'a tokenizer=abc',
    'decode=abc',
    'bearer tokens are sent',
    'Bearer authentication is wanted',
    'basic credentials',
    'Bearer realm="x"',
    'the token a-b',
    'nothing of that kind = abc',
  ])('keeps the sentence: %s', (text) => {
    expect(withoutNamedValues(text)).toBe(text);
  });

  it('has no error code in place of a value', () => {
    for (const code of ['transient', 'wrong-shape', 'ABORT_ERR', 'ECONNRESET', 'EAI_AGAIN', '0', '65535'])
      expect(isErrorCode(code)).toBe(true);
    for (const value of ['E', 'EA', 'xECONNRESET', 'ECONNRESET1', 'Econnreset', '123456', 'a1', '1a', ''])
      expect(isErrorCode(value)).toBe(false);
  });
});

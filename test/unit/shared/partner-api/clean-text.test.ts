/**
 * Hides secrets in a text with random combinations of encodings, and checks that none of them remains in the result.
 */
import fc from 'fast-check';
import { expect, it, vi } from 'vitest';
import { Secret } from '../../../../shared/domain/secret.ts';
import { cleanText } from '../../../../shared/partner-api/error-answers.ts';

const hex = (char: string, digits: number) => char.charCodeAt(0).toString(16).padStart(digits, '0');
const names: Record<string, string> = { '&': 'amp', '"': 'quot', '.': 'period', '-': 'hyphen', _: 'lowbar' };

/** Ways to write one character. */
const ofChar: readonly ((char: string) => string)[] = [
  (char) => char,
  (char) => char.toUpperCase(),
  (char) => `%${hex(char, 2)}`,
  (char) => `%${hex(char, 2).toUpperCase()}`,
  (char) => `%25${hex(char, 2)}`,
  (char) => `%u${hex(char, 4)}`,
  (char) => `&#${char.charCodeAt(0)};`,
  (char) => `&#000${char.charCodeAt(0)};`,
  (char) => `&#x${hex(char, 2)};`,
  (char) => `&amp;#x${hex(char, 2).toUpperCase()};`,
  (char) => (names[char] === undefined ? char : `&${names[char]};`),
  (char) => `\\u${hex(char, 4)}`,
  (char) => `\\\\u${hex(char, 4)}`,
  (char) => `\\u{${hex(char, 2)}}`,
  (char) => `\\x${hex(char, 2)}`,
  (char) => String.fromCharCode(char.charCodeAt(0) + (char === ' ' ? 0x2fe0 : 0xfee0)),
];
/** Invisible or nearly invisible characters between two others. */
const betweenChars = ['', '\u200b', '\u00ad', '\ufe0f', '\u202e', '\u2066', '\u061c', '\u0301', '%E2%80%8B'];
const spacing = ['', ' ', '\n', '\r\n\t', '\u00a0', '&nbsp;', '%20', '\u2028'];

/** Ways to write a whole text. */
const ofText: readonly ((text: string) => string)[] = [
  (text) => text,
  (text) => JSON.stringify(text),
  (text) => JSON.stringify({ message: text }),
  (text) => encodeURIComponent(text),
  (text) => new URLSearchParams({ q: text }).toString(),
  (text) => text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`),
  (text) => text.toUpperCase(),
];
const asBase64 = [
  (text: string) => Buffer.from(text).toString('base64'),
  (text: string) => Buffer.from(text).toString('base64url'),
  (text: string) =>
    Buffer.from(text)
      .toString('base64')
      .replace(/.{20}/g, (line) => `${line}\r\n`),
];

const visible = fc.integer({ min: 0x21, max: 0x7e }).map((code) => String.fromCharCode(code));
const common = fc.constantFrom(...'abcdefgXYZ0123456789-_.~+/=');
const secretText = fc.string({
  unit: fc.oneof({ weight: 4, arbitrary: common }, visible),
  minLength: 12,
  maxLength: 40,
});
const words = fc.array(
  fc.constantFrom('the', 'value', 'is', 'wrong:', '„since”', '  ', '\n', '(', '<b>', '{"a":', '50 %', '🚲'),
  {
    maxLength: 30,
  },
);
/** Much white space, so that text near the end of the read limit moves to the front. */
const gap = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 60 }), fc.integer({ min: 3_940, max: 4_010 }));

const hidden = secretText.chain((secret) =>
  fc.record({
    secret: fc.constant(secret),
    text: fc
      .tuple(
        fc.array(fc.tuple(fc.constantFrom(...ofChar), fc.constantFrom(...betweenChars)), {
          minLength: secret.length,
          maxLength: secret.length,
        }),
        fc.oneof(
          { weight: 3, arbitrary: fc.constant(['']) },
          fc.array(fc.constantFrom(...spacing), { minLength: 1, maxLength: 5 }),
        ),
        fc.boolean(),
        fc.array(fc.constantFrom(...ofText), { maxLength: 3 }),
        fc.option(fc.constantFrom(...asBase64), { freq: 3 }),
        fc.tuple(words, words, gap),
      )
      .map(([ways, spaces, isPlain, around, base64, [before, after, spacesBefore]]) => {
        const written = isPlain
          ? secret
          : [...secret]
              .map((char, index) => {
                const [way, between] = ways[index] ?? [String, ''];
                return `${way(char)}${between}${spaces[index % spaces.length]}`;
              })
              .join('');
        const echoed = base64
          ? base64(`${before.join(' ')}${isPlain ? secret : encodeURIComponent(secret)}`)
          : written;
        const sentence = `${before.join(' ')} ${echoed} ${after.join(' ')}`;
        return `${' '.repeat(spacesBefore)}${around.reduce((text, way) => way(text), sentence)}`;
      }),
  }),
);

/** All that a reader could make of a text, by ordinary decoders of this test's own. */
function readings(text: string): string[] {
  const decoders: readonly ((text: string) => string)[] = [
    (one) => one.replace(/%([0-9a-f]{2})/gi, (_, code) => String.fromCharCode(Number.parseInt(code, 16))),
    (one) => one.replace(/&#(\d+);/g, (_, code) => String.fromCodePoint(Number(code) % 0x110000)),
    (one) =>
      one.replace(/&#x([0-9a-f]+);/gi, (_, code) =>
        String.fromCodePoint(Number.parseInt(code, 16) % 0x110000),
      ),
    (one) =>
      one.replace(
        /&(\w+);/g,
        (all, name) => Object.entries(names).find(([, known]) => known === name.toLowerCase())?.[0] ?? all,
      ),
    (one) => one.replace(/\\+u([0-9a-f]{4})/gi, (_, code) => String.fromCharCode(Number.parseInt(code, 16))),
    (one) => one.replace(/\\[bfnrt]/g, ' '),
    (one) => one.replace(/\\+x([0-9a-f]{2})/gi, (_, code) => String.fromCharCode(Number.parseInt(code, 16))),
  ];
  let decoded = text;
  for (let round = 0; round < 12; round += 1)
    decoded = decoders.reduce((one, decode) => decode(one), decoded);
  const runs = decoded.replace(/\s/g, '').match(/[\w+/-]{11,}/g) ?? [];
  const inBase64 = runs.flatMap((run) =>
    [0, 1, 2, 3].map((offset) =>
      decodeURIComponentOrNot(Buffer.from(run.slice(offset), 'base64').toString('latin1')),
    ),
  );
  return [text, decoded, ...inBase64].map(compared);
}

const decodeURIComponentOrNot = (text: string) =>
  text.replace(/%([0-9a-f]{2})/gi, (_, code) => String.fromCharCode(Number.parseInt(code, 16)));

const compared = (text: string) =>
  text
    .normalize('NFKD')
    .replace(/[\p{M}\p{C}\s\\]/gu, '')
    .toLowerCase();

function survivors(text: string, secret: string): string[] {
  const [needle = ''] = readings(secret).slice(1);
  const all = readings(text);
  const stretches = Array.from({ length: Math.max(0, needle.length - 7) }, (_, at) =>
    needle.slice(at, at + 8),
  );
  return stretches.filter((stretch) => all.some((reading) => reading.includes(stretch)));
}

it('cleaned text has no eight characters of a secret, however written', () => {
  fc.assert(
    fc.property(hidden, ({ secret, text }) => {
      const clean = cleanText(text, [new Secret(secret)]);

      expect(survivors(clean, secret)).toEqual([]);
      expect(clean.length).toBeLessThanOrEqual(300);
      expect(clean).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u);
    }),
    { numRuns: 2_000 },
  );
});

it('cleaned text is one line of at most 300 characters', () => {
  const words = 'word '.repeat(60).trim();

  expect(cleanText('\u001b[31ma\r\n\tb\u0000c\u2028d\u202ee\u200b!', [])).toBe('[31ma b c de!');
  expect(cleanText(`${words}s`, [])).toBe(`${words}s`);
  expect(cleanText(`${words} and`, [])).toBe(`${words}…`);
  expect(cleanText('ab 🚲 '.repeat(200), []).isWellFormed()).toBe(true);
  expect(cleanText(`The value ${' '.repeat(4_000 - 27)}correct-horse+battery is wrong`, [])).toBe(
    'The value…',
  );
});

it.each([
  ['20 letters and digits are not shown', `a1${'b'.repeat(18)}`, '[redacted]'],
  ['19 are', `a1${'b'.repeat(17)}`, `a1${'b'.repeat(17)}`],
  ['letters alone are', 'b'.repeat(30), 'b'.repeat(30)],
  ['digits alone are', '1'.repeat(30), '1'.repeat(30)],
  ['4,000 characters are read to the end', `a${' '.repeat(3_998)}b`, 'a b'],
  ['more are not read', `a${' '.repeat(3_999)}b`, 'a…'],
  ['their last 64 may be part of a secret', `a${' '.repeat(3_935)}b${' '.repeat(64)}`, 'a…'],
  ['what stands before these is read', `a${' '.repeat(3_934)}b${' '.repeat(65)}`, 'a b…'],
])('of a text, %s', (_rule, text, clean) => {
  expect(cleanText(text, [])).toBe(clean);
});

it('cleaned text redacts what looks like a token', () => {
  const jwt = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U';

  expect(cleanText(`Token ${jwt} is unknown`, [])).toBe('Token [redacted] is unknown');
  expect(cleanText('p&#97;ssword=abcdef', [])).toBe('password=[redacted]');
});

it.each(['%25', '&amp;', '\\u', 'token=', 'A1 ', 'QUJD', 'secret"\\\\', '\ufdfa'])(
  'cleaned text reads 4,000 characters of a hostile text: %j',
  (piece) => {
    const normalize = vi.spyOn(String.prototype, 'normalize');

    const text = cleanText(piece.repeat(1_000_000 / piece.length), [new Secret('s3cret-of-the-user')]);

    const read = normalize.mock.contexts.reduce<number>((sum, context) => sum + String(context).length, 0);
    normalize.mockRestore();
    expect(text.length).toBeLessThanOrEqual(300);
    // Each round reads it once; base64 in it is read at four offsets, and again within.
    expect(read).toBeLessThan(4_000 * 18 * 50);
  },
);

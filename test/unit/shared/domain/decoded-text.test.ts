import { expect, it } from 'vitest';
import { decodedText } from '../../../../shared/domain/text.ts';

const times = (count: number, encode: (text: string) => string, text: string) =>
  Array.from({ length: count }).reduce<string>(encode, text);

it.each([
  ['percent encoding, in either case', '%7e%C5%82%c5%82', '~łł'],
  ['percent encoding that is no UTF-8', 'a%ffb', 'a\ufffdb'],
  ['escapes of a pair', '\\ud83d\\udeb2', '🚲'],
  ['escapes of old JavaScript', '%u0141%u004A', 'ŁJ'],
  ['escapes of code points', '\\u{41}\\u{0001F6b2}', 'A🚲'],
  ['escapes of white space', 'a\\nb\\tc\\rd\\be\\ff', 'a b c d e f'],
  ['decimal entities', '&#65;&#0000066;&#67 &#128690;', 'ABC 🚲'],
  ['hexadecimal entities', '&#x41;&#X0042;&#x43 &#x1f6b2;', 'ABC 🚲'],
  ['no code point at all', '&#1114112;&#x110000;\\u{110000}', '\ufffd\ufffd\ufffd'],
  ['halves of pairs as code points', '&#xd800;&#xdfff;\\u{dabc}', '\ufffd\ufffd\ufffd'],
  ['an entity of that name', '&AMP;&lt;&Gt;&UnderBar;&Tab;&bsol;', '&<>_\t\\'],
  ['a compatibility form', 'ｔｏｋｅｎ ﬁ', 'token fi'],
  ['invisible characters', 'a\u200bb\u00adc\ufe0fd\u202ee\u2060f', 'abcdef'],
  ['a mixture', '%26amp;#x4&#x31;&shy;;', 'A'],
])('the meaning of a text is found behind %s', (_case, text, says) => {
  expect(decodedText(text)).toBe(says);
});

it.each(['50 % of 7%', '%zz', '\\q \\u12 \\x4 \\u{} \\u{1234567}', '&amp &unknown; &;', '&#; &#x;', 'R&D'])(
  'the meaning of a text is itself when nothing is encoded: %s',
  (text) => {
    expect(decodedText(text)).toBe(text);
  },
);

it('the meaning of a text is found behind eight encodings, not behind more', () => {
  expect(decodedText(times(8, encodeURIComponent, '%'))).toBe('%');
  expect(decodedText(times(9, encodeURIComponent, '%'))).toBeUndefined();
});

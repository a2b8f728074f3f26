import { expect, it } from 'vitest';
import { printableLine, printableLines } from '../../../../shared/domain/text.ts';

it.each([
  ['a C0 control character', '\u001b', '\\u001b'],
  ['a C1 control character', '\u009b', '\\u009b'],
  ['a bidirectional override', '\u202e', '\\u202e'],
  ['a line separator', '\u2028', '\\u2028'],
  ['a paragraph separator', '\u2029', '\\u2029'],
  ['a zero width space', '\u200b', '\\u200b'],
  ['a soft hyphen', '\u00ad', '\\u00ad'],
  ['a variation selector', '\ufe0f', '\\ufe0f'],
  ['a tag, beyond 0xffff', '\u{e0041}', '\\udb40\\udc41'],
  ['everything with a shape as it is', 'Zażółć: 100 % 🚲 "\\u0041"', 'Zażółć: 100 % 🚲 "\\u0041"'],
])('text for a terminal shows %s', (_case, char, shown) => {
  for (const printable of [printableLine, printableLines])
    expect(printable(`a${char}b${char}`)).toBe(`a${shown}b${shown}`);
});

it('text for a terminal keeps wanted line breaks, and no half of a pair', () => {
  expect(printableLines('a\n\tb\r\ud83d')).toBe('a\n\tb\\u000d\ufffd');
  expect(printableLine('a\n\tb\r\ud83d')).toBe('a\\u000a\\u0009b\\u000d\ufffd');
});

it('JSON for a terminal is the same value', () => {
  const value = { 'a\u202e': ['\u009b31m', '\u{e0041}'] };

  expect(JSON.parse(printableLine(JSON.stringify(value)))).toEqual(value);
});

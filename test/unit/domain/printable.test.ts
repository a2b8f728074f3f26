import { describe, expect, it } from 'vitest';
import { printableJson, printableLine, printableLines } from '../../../shared/domain/text.ts';

describe('text for a terminal', () => {
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
  ])('shows %s as an escape', (_case, char, shown) => {
    for (const printable of [printableLine, printableLines, printableJson])
      expect(printable(`a${char}b${char}`)).toBe(`a${shown}b${shown}`);
  });

  it('keeps line breaks and tabs where it may have lines, and nowhere else', () => {
    expect(printableLines('a\n\tb\r')).toBe('a\n\tb\\u000d');
    expect(printableLine('a\n\tb\r')).toBe('a\\u000a\\u0009b\\u000d');
  });

  it('stays as it is when all its characters are visible', () => {
    const text = 'Zażółć gęślą jaźń: 100 % 🚲 "\\u0041"';

    expect([printableLine(text), printableLines(text), printableJson(text)]).toEqual([text, text, text]);
  });

  it('has no half of a surrogate pair, which a terminal cannot show', () => {
    expect([printableLine('a\ud83d'), printableLines('a\ud83d')]).toEqual(['a\ufffd', 'a\ufffd']);
  });

  it('is the same value when it is JSON', () => {
    const value = { 'a\u202e': ['\u009b31m', '\u{e0041}'] };

    expect(JSON.parse(printableJson(JSON.stringify(value)))).toEqual(value);
  });
});

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Secret } from '../../../shared/domain/secret.ts';
import { cleanText } from '../../../shared/partner-api/error-answers.ts';

describe('cleanText', () => {
  it('leaves an ordinary sentence as it is, in any language', () => {
    const text = 'Parametr „since” jest nieprawidłowy: oczekiwano daty 2026-11-20T12:00:00Z (błąd 17).';

    expect(cleanText(text, [])).toBe(text);
  });

  it('makes one line of it', () => {
    expect(cleanText('\u001b[31ma\r\n\tb\u0000c\u2028d\u202ee\u200b!', [])).toBe('[31ma b c de!');
  });

  it('keeps 300 characters at most, and no half of a pair', () => {
    const text = cleanText('ab 🚲 '.repeat(200), []);

    expect(text.length).toBeLessThanOrEqual(300);
    expect(text.isWellFormed()).toBe(true);
  });

  it('keeps the beginning of a longer one, and shows that it was cut', () => {
    const words = 'word '.repeat(60).trim();

    expect(cleanText(words, [])).toBe(words);
    expect(cleanText(`${words}s`, [])).toBe(`${words}s`);
    expect(cleanText(`${words} and`, [])).toBe(`${words}…`);
    expect(cleanText(`b${'a '.repeat(150)}`, [])).toHaveLength(300);
    // Of what is too long to be read, the last part that was is left out, too.
    expect(cleanText(`${' '.repeat(3_990)}tail of what was read`, [])).toBe('…');
  });

  it('takes a secret out that looks encoded itself, with spaces between its characters', () => {
    const secret = new Secret('aaaaa&#9aaaa!!');

    expect(cleanText('it was a aa aa &# 9a aa a! !', [secret])).toBe('it was [redacted]');
    expect(cleanText('it was aaaaa&#9aaaa!!', [secret])).toBe('it was [redacted]');
  });

  it("takes the request's own secrets out, also percent-encoded and broken up by invisible characters", () => {
    const secrets = [new Secret('s3cr+t/x'), new Secret('code word')];

    const text = cleanText('Bad s3cr+t/x or s3cr%2Bt%2Fx or s3\u200bcr+t/x, code%20word', secrets);

    expect(text).toBe('Bad [redacted] or [redacted] or [redacted], [redacted]');
  });

  it('takes out what looks like a token', () => {
    const jwt =
      'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U';

    expect(cleanText(`Token ${jwt} is unknown`, [])).toBe('Token [redacted] is unknown');
    expect(cleanText('refresh_token=ab12cd and "client_secret": "p4ssword!"', [])).toBe(
      'refresh_token=[redacted] and "client_secret": "[redacted]"',
    );
    expect(cleanText('Authorization: Bearer abc-123', [])).toBe('Authorization: Bearer [redacted]');
  });

  it('leaves no secret, wherever it stands', () => {
    const secret = fc.string({ minLength: 8, maxLength: 40, unit: fc.constantFrom(...'abcXYZ019-_.~+/=') });
    fc.assert(
      fc.property(
        secret,
        fc.string({ maxLength: 600 }),
        fc.string({ maxLength: 600 }),
        (value, before, after) => {
          const text = cleanText(`${before}${value}${after}`, [new Secret(value)]);

          expect(text).not.toContain(value);
          expect(text).not.toMatch(/\p{Cc}/u);
          expect(text.length).toBeLessThanOrEqual(300);
        },
      ),
    );
  });
});

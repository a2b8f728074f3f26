/** Makes the service's text safe for logs and dead letters, because it may echo secrets and contain any characters. */

import { withoutNamedValues, withoutSecrets } from '../../domain/redacted-text.ts';
import { redacted, type Secret } from '../../domain/secret.ts';
import { decodedText } from '../../domain/text/decoded-text.ts';

const maxChars = 300;
/** Only this much text is processed, so that a hostile text does not take long. It is much more than is kept. */
const maxCharsRead = 4_000;
/** If the text is longer, the end of the processed part is dropped too, because it may be the beginning of a secret. */
const uncertainChars = 64;

/** Control characters and white space of every kind. */
const gaps = /[\p{Cc}\s]+/gu;
/** A run of token characters; hardly any word is this long. */
const longRun = /[\w.~+/=-]{20,}/g;

const withoutTokens = (text: string): string =>
  text.replace(longRun, (run) => (/\d/.test(run) && /[A-Za-z]/.test(run) ? redacted : run));

/**
 * Returns one decoded line of at most 300 characters, without the given secrets in any encoding, and without anything
 * else that looks like a secret. The text is cut last, because a cut secret would not be recognized.
 *
 * @param secrets secrets of the request
 */
export function cleanText(text: string, secrets: readonly Secret[]): string {
  const plain = decodedText(text.slice(0, maxCharsRead));
  if (plain === undefined) return redacted;
  // Decomposition may expand one character to eighteen.
  const isWhole = Math.max(text.length, plain.length) <= maxCharsRead;
  const known = isWhole ? plain : plain.slice(0, maxCharsRead).slice(0, -uncertainChars);
  const line = known.replace(gaps, ' ').trim();
  const clean = withoutTokens(withoutNamedValues(withoutSecrets(line, secrets))).toWellFormed();
  if (isWhole && clean.length <= maxChars) return clean;
  return `${clean.slice(0, maxChars - 1).toWellFormed()}…`;
}

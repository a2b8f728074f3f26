/** Makes the service's text fit for logs and dead letters: it may echo what was sent, and contain anything else. */

import { withoutNamedValues, withoutSecrets } from '../../domain/redacted-text.ts';
import { redacted, type Secret } from '../../domain/secret.ts';
import { decodedText } from '../../domain/text/decoded-text.ts';

const maxChars = 300;
/** Much more than is kept: a hostile text must not take long. */
const maxCharsRead = 4_000;
/** Where the text is longer, the end of what was read is left out: it may be the beginning of a secret. */
const uncertainChars = 64;

/** Control characters and white space of every kind. */
const gaps = /[\p{Cc}\s]+/gu;
/** What tokens are made of; hardly any word is as long. */
const longRun = /[\w.~+/=-]{20,}/g;

const withoutTokens = (text: string): string =>
  text.replace(longRun, (run) => (/\d/.test(run) && /[A-Za-z]/.test(run) ? redacted : run));

/**
 * One line of at most 300 characters, decoded, without the given secrets, however they are written, and without
 * whatever else looks like one. It is cut last, so that no secret is cut to something that is not recognized.
 *
 * @param secrets those of the request that was answered
 */
export function cleanText(text: string, secrets: readonly Secret[]): string {
  const plain = decodedText(text.slice(0, maxCharsRead));
  if (plain === undefined) return redacted;
  // One character may be eighteen when it is decomposed.
  const isWhole = Math.max(text.length, plain.length) <= maxCharsRead;
  const known = isWhole ? plain : plain.slice(0, maxCharsRead).slice(0, -uncertainChars);
  const line = known.replace(gaps, ' ').trim();
  const clean = withoutTokens(withoutNamedValues(withoutSecrets(line, secrets))).toWellFormed();
  if (isWhole && clean.length <= maxChars) return clean;
  return `${clean.slice(0, maxChars - 1).toWellFormed()}…`;
}

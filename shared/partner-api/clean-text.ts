/** Text of the service, made fit for logs and dead letters: it may echo what was sent, and hold anything else. */
import { redacted, type Secret } from '../domain/secret.ts';

const maxChars = 300;
/** Much more than is kept; a hostile text is not worked through to its end. */
const maxCharsRead = 4_000;

/** Line breaks, other control characters, and those that turn the direction of writing around. */
const control = /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]+/gu;
/** Zero width: they would hide a secret from the comparison. */
const invisible = /[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]/g;
/** A name that stands for a secret, and the value after it. */
const named =
  /\b(bearer|basic|(?:access|refresh|id)[_ -]?token|client[_ -]?secret|password|secret|code)(["']?\s*[:=]\s*["']?|\s+)(?=\S*[\d_.~+/=-])[^\s"'&,;]{6,}/gi;
/** Long runs with letters and digits: what tokens look like, and hardly any word. */
const tokenLike = /(?=[\w.~+/=-]*\d)(?=[\w.~+/=-]*[A-Za-z])[\w.~+/=-]{20,}/g;
/** Shorter secrets would blot out half of every text. */
const minSecretChars = 4;

/** As an echo may have it: as it is, in a URL, in a form, in JSON within JSON, in base64. */
function formsOf(value: string): string[] {
  const inUrl = value.isWellFormed() ? encodeURIComponent(value) : value;
  const bytes = Buffer.from(value);
  return [
    value,
    inUrl,
    inUrl.replaceAll('%20', '+'),
    JSON.stringify(value).slice(1, -1),
    bytes.toString('base64'),
    bytes.toString('base64url'),
  ];
}

/**
 * One line of at most 300 characters, without the given secrets and without whatever else looks like one.
 *
 * @param secrets those of the request that was answered
 */
export function cleanText(text: string, secrets: readonly Secret[]): string {
  let clean = text
    .slice(0, maxCharsRead)
    .replace(invisible, '')
    .replace(control, ' ')
    .replace(/ {2,}/g, ' ')
    .trim();
  for (const secret of secrets) {
    const value = secret.reveal();
    if (value.length < minSecretChars) continue;
    for (const form of formsOf(value)) clean = clean.replaceAll(form, redacted);
  }
  clean = clean.replace(named, `$1$2${redacted}`).replace(tokenLike, redacted).toWellFormed();
  return clean.length > maxChars ? `${clean.slice(0, maxChars - 1).toWellFormed()}…` : clean;
}

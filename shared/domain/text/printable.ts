/** Makes text safe for a terminal: the terminal shows exactly what the text contains. */

/**
 * Control characters (C0, C1), line and paragraph separators, and all characters without a visible shape: those that
 * change the direction of writing, zero width characters, soft hyphens, variation selectors, tags.
 *
 * @see https://www.unicode.org/reports/tr36/#Bidirectional_Text_Spoofing
 */
const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;
const unprintableInLines = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** Escapes as JSON does: a character beyond 0xffff becomes two escapes. */
const escaped = (char: string): string =>
  Array.from({ length: char.length }, (_, index) => {
    return `\\u${char.charCodeAt(index).toString(16).padStart(4, '0')}`;
  }).join('');

/** Text for a person: line breaks and tabs stay, every other unprintable character becomes `\uXXXX`. */
export const printableLines = (text: string): string =>
  text.toWellFormed().replace(unprintableInLines, escaped);

/** One line for a person, for text from an untrusted source: line breaks become `\uXXXX` too. */
export const printableLine = (text: string): string => text.toWellFormed().replace(unprintable, escaped);

/**
 * JSON text as one line that a terminal shows completely: unprintable characters, which JSON allows only inside
 * strings, become `\uXXXX`. The value is the same.
 *
 * @param json as `JSON.stringify` returns it, without indentation
 */
export const printableJson = (json: string): string => json.replace(unprintable, escaped);

/** Events as lines, each ending in a newline; the JSON values are the same ({@link printableJson}). */
export const linesOf = (envelopes: readonly string[]): string =>
  envelopes.map((envelope) => `${printableJson(envelope)}\n`).join('');

/** Quotes a text as one word for a shell. */
export const quoted = (text: string): string =>
  /^[\w./:@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

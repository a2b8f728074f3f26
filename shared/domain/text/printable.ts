/** Text that is fit for a terminal: what it shows is what it holds. */

/**
 * Control characters (C0, C1), line and paragraph separators, and all that has no shape of its own: characters that turn
 * the direction of writing around, zero width, soft hyphens, variation selectors, tags.
 *
 * @see https://www.unicode.org/reports/tr36/#Bidirectional_Text_Spoofing
 */
const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;
const unprintableInLines = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** As JSON writes it: a character beyond 0xffff is two escapes. */
const escaped = (char: string): string =>
  Array.from({ length: char.length }, (_, index) => {
    return `\\u${char.charCodeAt(index).toString(16).padStart(4, '0')}`;
  }).join('');

/** Lines for a person: line breaks and tabs stay, every other unprintable character becomes `\uXXXX`. */
export const printableLines = (text: string): string =>
  text.toWellFormed().replace(unprintableInLines, escaped);

/** One line for a person, for text that comes from elsewhere: line breaks become `\uXXXX` too. */
export const printableLine = (text: string): string => text.toWellFormed().replace(unprintable, escaped);

/**
 * JSON text as one line that a terminal shows whole: unprintable characters, which JSON allows inside strings alone, become
 * `\uXXXX`. The value is the same.
 *
 * @param json as `JSON.stringify` gives it, without indentation
 */
export const printableJson = (json: string): string => json.replace(unprintable, escaped);

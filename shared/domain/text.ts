/** Decodes the encodings in which one text may contain another, so that texts can be compared by content. */

/** A text with more layers of encoding is not decoded. */
const maxRounds = 8;
/** A text that would become more than twice as long, and longer by this, is not decoded either: a letter may stand for 18. */
const maxMoreChars = 1_000;

const plainAscii = /^[\x20-\x24\x27-\x5b\x5d-\x7e\n]*$/;
const percentEncoded = /(?:%[0-9a-f]{2})+/gi;
/** `\u0041`, `%u0041`, `\u{41}`, `\x41`; `\n` and the like become white space. */
const escapes = /[\\%]u([0-9a-f]{4})|\\u\{0*([0-9a-f]{1,6})\}|\\x([0-9a-f]{2})|\\[bfnrt]/gi;
const entities = /&(?:#0*(\d{1,7});?|#x0*([0-9a-f]{1,6});?|([a-z]{2,24});)/gi;
/** Characters without a visible shape, which would hide a text from the comparison. */
const invisible = /[\p{Cf}\p{Default_Ignorable_Code_Point}]/gu;

/**
 * HTML's names of printable ASCII characters, in lower case, each followed by its character.
 *
 * @see https://html.spec.whatwg.org/multipage/named-characters.html
 */
const htmlNames =
  'excl! quot" num# dollar$ percnt% amp& apos\' lpar( rpar) ast* midast* plus+ comma, period. sol/ colon: semi; lt< ' +
  'equals= gt> quest? commat@ lsqb[ lbrack[ bsol\\ rsqb] rbrack] hat^ lowbar_ underbar_ grave` diacriticalgrave` ' +
  'lcub{ lbrace{ verbar| vert| verticalline| rcub} rbrace} hyphen- dash- tab\t newline\n nbsp\u00a0 shy\u00ad ' +
  'zwj\u200d zwnj\u200c nobreak\u2060 zerowidthspace\u200b';
const named: ReadonlyMap<string, string> = new Map(
  htmlNames.split(' ').map((name) => [name.slice(0, -1), name.slice(-1)]),
);

const character = (code: number): string =>
  code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff) ? '\ufffd' : String.fromCodePoint(code);

/** Each replacement is shorter than the original, and each pattern is applied in one pass. */
const decodedOnce = (text: string): string =>
  text
    .replace(percentEncoded, (run) => Buffer.from(run.replaceAll('%', ''), 'hex').toString())
    .replace(escapes, (_escape, unit?: string, point?: string, byte?: string) => {
      // A UTF-16 unit may be half of a surrogate pair, so it is not a code point.
      if (unit !== undefined) return String.fromCharCode(Number.parseInt(unit, 16));
      const code = point ?? byte;
      return code === undefined ? ' ' : character(Number.parseInt(code, 16));
    })
    .replace(entities, (entity: string, decimal?: string, hex?: string, name?: string) => {
      if (name !== undefined) return named.get(name.toLowerCase()) ?? entity;
      return character(decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal));
    })
    .replace(invisible, '')
    .normalize('NFKC');

/**
 * The content of `text`: encodings undone until nothing changes, without invisible characters, in form NFKC.
 *
 * @returns undefined when it still changes after eight rounds, or becomes far longer
 */
export function decodedText(text: string): string | undefined {
  if (plainAscii.test(text)) return text;
  let current = text;
  // One extra round, which finds that nothing changes any more.
  for (let round = 0; round <= maxRounds; round += 1) {
    const decoded = decodedOnce(current);
    if (decoded === current) return current;
    if (decoded.length > 2 * text.length + maxMoreChars) return undefined;
    current = decoded;
  }
  return undefined;
}

/**
 * What a terminal would not show as it is: control characters (C0, C1), line and paragraph separators, and all characters
 * without a visible shape: those that change the direction of writing, zero width characters, soft hyphens, tags.
 *
 * @see https://www.unicode.org/reports/tr36/#Bidirectional_Text_Spoofing
 */
const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;
const unprintableInLines = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** Escapes as JSON does: a character beyond 0xffff becomes two escapes. */
const escaped = (char: string): string =>
  char.replace(/./gs, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);

/** Text for a person: line breaks and tabs stay, every other unprintable character becomes `\uXXXX`. */
export const printableLines = (text: string): string =>
  text.toWellFormed().replace(unprintableInLines, escaped);

/** One line for a person, for text from an untrusted source: line breaks become `\uXXXX` too. JSON keeps its value. */
export const printableLine = (text: string): string => text.toWellFormed().replace(unprintable, escaped);

/** Events as lines, each ending in a newline. */
export const linesOf = (envelopes: readonly string[]): string =>
  envelopes.map((envelope) => `${printableLine(envelope)}\n`).join('');

/** Quotes a text as one word for a shell. */
export const quoted = (text: string): string =>
  /^[\w./:@%+=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

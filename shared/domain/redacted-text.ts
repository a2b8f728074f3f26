/** Text without the secrets in it, whichever way they are written there. */

import { faultKinds } from './faults.ts';
import { redacted, type Secret } from './secret.ts';
import { decodedText } from './text/decoded-text.ts';

/** A shorter one would blot out half of every text. */
const minSecretChars = 4;
/** So much of a secret is taken for the secret: an echo may be cut off at either end. */
const stretchChars = 8;
/** As base64 has a stretch, at the least; between its lines may stand line breaks, indentation and backslashes. */
const base64Run = /[\w+/-](?:[\s\\]*[\w+/-]){10,}/g;
/** What in decoded base64 may be text. */
const printableRun = /[\t\n\r\x20-\x7e]{4,}/g;
/** Base64 within base64. */
const maxBase64Depth = 2;

/** A text as it is compared, and where in it each character comes from. */
interface Folded {
  readonly text: string;
  readonly from: readonly number[];
  readonly to: readonly number[];
}

/** What a character is compared by: no case, no accents; nothing at all for white space, control characters, backslashes. */
function foldedChar(char: string): string {
  if (char > '\u007f') {
    const letters = char.normalize('NFKD').replace(/[\s\p{M}\p{C}\p{Z}\\]/gu, '');
    // First up: `ß` has no lower case of its own, `SS` has.
    return letters.toUpperCase().toLowerCase();
  }
  return char <= ' ' || char === '\\' || char === '\u007f' ? '' : char.toLowerCase();
}

function folded(plain: string): Folded {
  const from: number[] = [];
  const to: number[] = [];
  let text = '';
  let at = 0;
  for (const char of plain) {
    const compared = foldedChar(char);
    for (let unit = 0; unit < compared.length; unit += 1) {
      from.push(at);
      to.push(at + char.length);
    }
    text += compared;
    at += char.length;
  }
  return { text, from, to };
}

/** The stretches that give a secret away, all of one length. */
interface Stretches {
  readonly length: number;
  readonly known: ReadonlySet<string>;
}

/** The same secret is searched for in many texts. */
const stretchesKnown = new WeakMap<Secret, readonly Stretches[]>();

function stretchesOf(secret: Secret): readonly Stretches[] {
  const found = stretchesKnown.get(secret);
  if (found) return found;
  const value = secret.reveal();
  // In a form's encoding a space is a plus sign.
  const forms = /\s/.test(value) ? [value, value.replaceAll(/\s/g, '+')] : [value];
  // As it is, too: where spaces stand between its characters, what looks encoded in a secret is not decoded.
  const readings = forms.flatMap((form) => [...new Set([form, decodedText(form) ?? form])]);
  const stretches = readings.flatMap((reading): Stretches[] => {
    const { text } = folded(reading);
    if (text.length < minSecretChars) return [];
    const length = Math.min(stretchChars, text.length);
    const places = Array.from({ length: text.length - length + 1 }, (_, at) => at);
    return [{ length, known: new Set(places.map((at) => text.slice(at, at + length))) }];
  });
  stretchesKnown.set(secret, stretches);
  return stretches;
}

type Range = readonly [from: number, to: number];

/** Where in `plain` secrets stand, in any order. */
function found(plain: string, stretches: readonly Stretches[], depth = 0): Range[] {
  const { text, from, to } = folded(plain);
  const ranges: Range[] = [];
  for (const { length, known } of stretches) {
    for (let at = 0; at + length <= text.length; at += 1) {
      if (known.has(text.slice(at, at + length))) {
        ranges.push([from[at] as number, to[at + length - 1] as number]);
      }
    }
  }
  if (depth === maxBase64Depth) return ranges;
  for (const { 0: run, index } of plain.matchAll(base64Run)) {
    if (hidesSecret(run.replaceAll(/[\s\\]/g, ''), stretches, depth))
      ranges.push([index, index + run.length]);
  }
  return ranges;
}

/** Four characters are three bytes, and where the first four begin is not known. In words this brings no text to light. */
const hidesSecret = (run: string, stretches: readonly Stretches[], depth: number): boolean =>
  [0, 1, 2, 3].some((offset) => {
    // Without the zeros of UTF-16.
    const bytes = Buffer.from(run.slice(offset), 'base64').toString('latin1').replaceAll('\0', '');
    return (bytes.match(printableRun) ?? []).some((text) => {
      const inside = decodedText(text);
      return inside === undefined || found(inside, stretches, depth + 1).length > 0;
    });
  });

function withoutRanges(text: string, ranges: readonly Range[]): string {
  let clean = '';
  let end = 0;
  for (const [from, to] of ranges.toSorted((a, b) => a[0] - b[0])) {
    if (from > end || end === 0) clean += text.slice(end, from) + redacted;
    end = Math.max(end, to);
  }
  return clean + text.slice(end);
}

/**
 * `text` decoded (decoded-text.ts), without `secrets`: wherever eight or more characters of one stand in a row, whatever
 * their case, the spaces between them and their encoding, base64 among them, that stretch is replaced by `[redacted]`; all
 * of the text, when it is encoded more than eight times. Of a secret with fewer than eight characters all of them have to
 * be there. Takes time in proportion to the length.
 *
 * @param secrets those with fewer than four characters are not searched for
 */
export function withoutSecrets(text: string, secrets: readonly Secret[]): string {
  const plain = decodedText(text);
  if (plain === undefined) return redacted;
  return withoutRanges(plain, found(plain, secrets.flatMap(stretchesOf)));
}

/** What is called so is secret, unless it only follows in a sentence; `alone` stands in many sentences. */
const names =
  '(?<named>(?<=[a-z_-])token|secret|passw(?:or)?d|api[_-]?key|authorization|cookie)|(?<alone>\\b(?:token|code|bearer|basic))';
/** What stands between the name and the value, and the value: between quotes, after a colon or equals sign, after a space. */
const values = [
  String.raw`(\\*"?\s*[:=]\s*\\*")((?:[^"\\]|\\+(?!["\\]))+)`,
  String.raw`(\\*'?\s*[:=]\s*\\*')((?:[^'\\]|\\+(?!['\\]))+)`,
  String.raw`(["'\\]*\s*[:=]\s*(?:(?:bearer|basic)\s+)?)([^\s"'\\&,;}]+)`,
  String.raw`(\s+)([^\s"'\\&,;}]+)`,
];
const namedValue = new RegExp(`(?:${names})(?:${values.join('|')})`, 'gi');

/** Error codes, which an operator needs: the bridge's own, Node's, numbers. */
const errorCodes = new Set<string>([...faultKinds, 'wrong-shape', 'ABORT_ERR']);
export const isErrorCode = (code: string): boolean =>
  errorCodes.has(code) || /^E[A-Z_]{2,24}$/.test(code) || /^\d{1,5}$/.test(code);

/** Longer than most words, and with something in it that few words have. */
const looksSecret = (value: string): boolean => value.length >= 6 && /[\d_.~+/=-]/.test(value);
/** What follows "bearer" and "basic" in a sentence. */
const schemeWord = /^(?:tokens?|auth\w*|credentials?|schemes?|realm)\b/i;

/**
 * `text` without the values of what is called a token, a secret, a password, a code or the like in it: `id_token=…`,
 * `"password":"…"`, `Authorization: Bearer …`. Words that only follow such a name in a sentence stay.
 *
 * @param text decoded (decoded-text.ts)
 */
export function withoutNamedValues(text: string): string {
  return text.replace(namedValue, (all: string, named?: string, alone = '', ...groups: unknown[]) => {
    const [open, value] = groups.filter((group) => group !== undefined) as [string, string];
    const kept = `${named ?? alone}${open}${redacted}`;
    if (/^(?:bearer|basic)$/i.test(alone)) return schemeWord.test(value) ? all : kept;
    if (alone.toLowerCase() === 'code' && isErrorCode(value)) return all;
    // "token: no answer", "the secret is wrong".
    const isSentence = named === undefined ? !/["'=]|:$/.test(open) : !/[:=]/.test(open);
    return isSentence && !looksSecret(value) ? all : kept;
  });
}

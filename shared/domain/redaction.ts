import { faultKinds } from './faults.ts';
import { redacted, Secret } from './secret.ts';
import { decodedText, printableLines } from './text.ts';

/**
 * The second protection: a {@link Secret} always prints as `[redacted]`; this module finds secrets that were never
 * wrapped.
 */
const secretKey = /(?:token|secret|secretstring|passw(?:or)?d|authorization|cookie|apikey)$/;

/** A one-time code is a secret, an error code is not. */
const isHarmlessCode = (value: unknown) =>
  typeof value === 'number' || (typeof value === 'string' && isErrorCode(value));

/** Returns `text` unchanged, or, if it contains values that are named as secrets, decoded and without these values. */
export function redactedText(text: string): string {
  const plain = decodedText(text);
  if (plain === undefined) return redacted;
  const clean = withoutNamedValues(plain);
  return clean === plain ? text : clean;
}

/**
 * Prepares `text` for a log: removes secrets, and escapes invisible and bidirectional characters that JSON does not
 * escape (C1, bidirectional, zero width) as `\uXXXX`.
 */
const loggedText = (text: string): string => printableLines(redactedText(text));

/**
 * A replacer for `JSON.stringify` of a log line: removes everything that looks like a token, by its key or by the text
 * before it, and makes every string printable.
 */
export function redact(key: string, value: unknown): unknown {
  if (value instanceof Secret) return redacted;
  if (value === undefined || value === null) return value;
  const name = key.replace(/[_-]/g, '').toLowerCase();
  if (secretKey.test(name) || (name === 'code' && !isHarmlessCode(value))) return redacted;
  return typeof value === 'string' ? loggedText(value) : value;
}

/** Maximum depth of causes; an error may even be its own cause. */
const maxDepth = 10;

/**
 * Copies `error` without secrets and unprintable characters in its message, stack, causes and other fields. Use it for
 * errors that leave the function, because Lambda logs a thrown error and returns it to the caller.
 *
 * @returns an Error with the name of the original, whatever its class; any other thrown value becomes an Error
 */
export function redactedError(error: unknown, depth = 0): Error {
  if (!(error instanceof Error)) return new Error(loggedText(String(error)));
  const { name, message, stack, cause, ...others } = error;
  const inside = (each: unknown, key = ''): unknown => {
    if (depth === maxDepth) return undefined;
    return each instanceof Error ? redactedError(each, depth + 1) : jsonOf(key, each);
  };
  const clean = new Error(loggedText(message));
  const define = (key: string, value: unknown) =>
    Object.defineProperty(clean, key, { value, configurable: true, writable: true });
  define('name', loggedText(name));
  define('stack', stack === undefined ? undefined : loggedText(stack));
  if (cause !== undefined) define('cause', inside(cause));
  if (error instanceof AggregateError)
    define(
      'errors',
      error.errors.map((each) => inside(each)),
    );
  for (const [key, value] of Object.entries(others)) Object.assign(clean, { [key]: inside(value, key) });
  return clean;
}

/** The redacted JSON form of the value of `key`. */
function jsonOf(key: string, value: unknown): unknown {
  try {
    return JSON.parse(JSON.stringify({ [key]: value }, redact))[key];
  } catch {
    // A circular structure, or a text beyond the maximum length.
    return redacted;
  }
}

/** Shorter secrets are not searched for, because they would match in nearly every text. */
const minSecretChars = 4;
/** A part of a secret of this length is treated like the whole secret, because an echo may be cut off at either end. */
const stretchChars = 8;
/** The shortest run of base64 to decode; its lines may be separated by line breaks, indentation and backslashes. */
const base64Run = /[\w+/-](?:[\s\\]*[\w+/-]){10,}/g;
/** Runs of printable characters in decoded base64. */
const printableRun = /[\t\n\r\x20-\x7e]{4,}/g;
/** Maximum depth of base64 within base64. */
const maxBase64Depth = 2;

/** A text in its normalized form for comparison, and the original place of each character. */
interface Folded {
  readonly text: string;
  readonly from: readonly number[];
  readonly to: readonly number[];
}

/**
 * The normalized form of a character: without case and accents; empty for white space, control characters and
 * backslashes.
 */
function foldedChar(char: string): string {
  if (char > '\u007f') {
    const letters = char.normalize('NFKD').replace(/[\s\p{M}\p{C}\p{Z}\\]/gu, '');
    // Upper case first, because `ß` becomes `SS`, which lower case maps to `ss`.
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

/** All parts of a secret that reveal it, each of the same length. */
interface Stretches {
  readonly length: number;
  readonly known: ReadonlySet<string>;
}

/** Cached, because the same secret is searched for in many texts. */
const stretchesKnown = new WeakMap<Secret, readonly Stretches[]>();

function stretchesOf(secret: Secret): readonly Stretches[] {
  const found = stretchesKnown.get(secret);
  if (found) return found;
  const value = secret.reveal();
  // In form encoding, a space is a plus sign.
  const forms = /\s/.test(value) ? [value, value.replaceAll(/\s/g, '+')] : [value];
  // The undecoded secret too: with spaces between its characters, a part that looks encoded is not decoded in the text.
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

/** The places of secrets in `plain`, in any order. */
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

/**
 * Four base64 characters are three bytes, and it is unknown where the first group begins, so all four offsets are
 * tried. In ordinary words, this decodes to no readable text.
 */
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
 * Decodes `text` (text.ts) and removes `secrets` from it. Eight or more consecutive characters of a secret are
 * replaced by `[redacted]`, whatever their case, spacing and encoding (base64 included). Text that is encoded more than
 * eight times is replaced completely. A secret with fewer than eight characters must match completely. The run time is
 * proportional to the length.
 *
 * @param secrets secrets with fewer than four characters are ignored
 */
export function withoutSecrets(text: string, secrets: readonly Secret[]): string {
  const plain = decodedText(text);
  if (plain === undefined) return redacted;
  return withoutRanges(plain, found(plain, secrets.flatMap(stretchesOf)));
}

/** Whether {@link withoutSecrets} would remove anything. */
export function repeatsSecret(text: string, secrets: readonly Secret[]): boolean {
  const plain = decodedText(text);
  return plain === undefined || found(plain, secrets.flatMap(stretchesOf)).length > 0;
}

/**
 * Names whose values are secret, unless the "value" is only the next word of a sentence. Names in `alone` also occur in
 * many ordinary sentences.
 */
const names =
  '(?<named>(?<=[a-z_-])token|secret|passw(?:or)?d|api[_-]?key|authorization|cookie)|(?<alone>\\b(?:token|code|bearer|basic))';
/** The separator between name and value (quotes, a colon, an equals sign or a space), and the value. */
const values = [
  String.raw`(\\*"?\s*[:=]\s*\\*")((?:[^"\\]|\\+(?!["\\]))+)`,
  String.raw`(\\*'?\s*[:=]\s*\\*')((?:[^'\\]|\\+(?!['\\]))+)`,
  String.raw`(["'\\]*\s*[:=]\s*(?:(?:bearer|basic)\s+)?)([^\s"'\\&,;}]+)`,
  String.raw`(\s+)([^\s"'\\&,;}]+)`,
];
const namedValue = new RegExp(`(?:${names})(?:${values.join('|')})`, 'gi');

/** Error codes (the bridge's own, Node's, numbers) stay, because an operator needs them. */
const errorCodes = new Set<string>([...faultKinds, 'wrong-shape', 'ABORT_ERR']);
export const isErrorCode = (code: string): boolean =>
  errorCodes.has(code) || /^E[A-Z_]{2,24}$/.test(code) || /^\d{1,5}$/.test(code);

/** Looks like a token: longer than most words, and with characters that few words contain. */
const looksSecret = (value: string): boolean => value.length >= 6 && /[\d_.~+/=-]/.test(value);
/** Words that follow "bearer" and "basic" in ordinary sentences. */
const schemeWord = /^(?:tokens?|auth\w*|credentials?|schemes?|realm)\b/i;

/**
 * Removes the values of tokens, secrets, passwords, codes and the like from `text`, by their names: `id_token=…`,
 * `"password":"…"`, `Authorization: Bearer …`. Words that only follow such a name in a sentence stay.
 *
 * @param text decoded (text.ts)
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

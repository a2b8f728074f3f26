import { faultKinds } from './faults.ts';
import { redacted, Secret } from './secret.ts';
import { decodedText, printableLines } from './text.ts';

/** The second protection, for secrets that were never wrapped in a {@link Secret}. */
const secretKey = /(?:token|secret|secretstring|passw(?:or)?d|authorization|cookie|apikey)$/;

/** Returns `text` unchanged, or, if it contains values that are named as secrets, decoded and without these values. */
export function redactedText(text: string): string {
  const plain = decodedText(text);
  if (plain === undefined) return redacted;
  const clean = withoutNamedValues(plain);
  return clean === plain ? text : clean;
}

/** Also escapes what JSON does not: C1, bidirectional and zero width characters. */
const loggedText = (text: string): string => printableLines(redactedText(text));

/** A replacer for `JSON.stringify` of a log line: no secrets, by key or by the text before them, and all printable. */
export function redact(key: string, value: unknown): unknown {
  if (value instanceof Secret) return redacted;
  if (value === undefined || value === null) return value;
  const name = key.replace(/[_-]/g, '').toLowerCase();
  // A one-time code is a secret, an error code is not.
  if (secretKey.test(name) || (name === 'code' && typeof value !== 'number' && !isErrorCode(String(value))))
    return redacted;
  return typeof value === 'string' ? loggedText(value) : value;
}

/** What Lambda may log and return to the caller of an error: name, message and stack, clean. */
export function redactedError(error: unknown): Error {
  const { name, message, stack } = error instanceof Error ? error : new Error(String(error));
  const clean = new Error(loggedText(message));
  clean.name = loggedText(name);
  clean.stack = loggedText(stack ?? '');
  return clean;
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

/** For comparison: without case, accents, white space, control characters and backslashes. */
const folded = (plain: string): string =>
  plain
    .normalize('NFKD')
    .replace(/[\s\p{M}\p{C}\p{Z}\\]/gu, '')
    // Upper case first, because `ß` becomes `SS`, which lower case maps to `ss`.
    .toUpperCase()
    .toLowerCase();

/** All parts of a secret that reveal it, each of the same length. */
interface Stretches {
  readonly length: number;
  readonly known: ReadonlySet<string>;
}

/** Cached, because the same secret is searched for in many texts. */
const stretchesKnown = new WeakMap<Secret, readonly Stretches[]>();

function stretchesOf(secret: Secret): readonly Stretches[] {
  const cached = stretchesKnown.get(secret);
  if (cached) return cached;
  const value = secret.reveal();
  // In form encoding, a space is a plus sign.
  const forms = [value, value.replaceAll(/\s/g, '+')];
  // The undecoded secret too: with spaces between its characters, a part that looks encoded is not decoded in the text.
  const readings = new Set(forms.flatMap((form) => [form, decodedText(form) ?? form]).map(folded));
  const stretches = [...readings].flatMap((text): Stretches[] => {
    if (text.length < minSecretChars) return [];
    const length = Math.min(stretchChars, text.length);
    return [{ length, known: new Set(windowsOf(text, length)) }];
  });
  stretchesKnown.set(secret, stretches);
  return stretches;
}

/** One by one, because all those of a long text need more memory than a function has. */
function* windowsOf(text: string, length: number): Generator<string> {
  for (let at = 0; at + length <= text.length; at += 1) yield text.slice(at, at + length);
}

function contains(text: string, { length, known }: Stretches): boolean {
  for (const part of windowsOf(text, length)) if (known.has(part)) return true;
  return false;
}

function repeats(text: string, stretches: readonly Stretches[], depth: number): boolean {
  const plain = decodedText(text);
  if (plain === undefined) return true;
  const compared = folded(plain);
  if (stretches.some((one) => contains(compared, one))) return true;
  const runs = (depth < maxBase64Depth && plain.match(base64Run)) || [];
  return runs.flatMap(textsInBase64).some((inside) => repeats(inside, stretches, depth + 1));
}

/** Tries each place where the first group of four may begin. Ordinary words decode to no readable text. */
const textsInBase64 = (run: string): string[] =>
  [0, 1, 2, 3].flatMap((offset) => {
    const bytes = Buffer.from(run.replaceAll(/[\s\\]/g, '').slice(offset), 'base64');
    // UTF-16 has a zero beside each ASCII character.
    return bytes.toString('latin1').replaceAll('\0', '').match(printableRun) ?? [];
  });

/**
 * Whether `text` contains eight or more consecutive characters of a secret (all of a shorter one), whatever their case,
 * spacing and encoding (text.ts, base64). True also for text that cannot be decoded (text.ts). The run time is
 * proportional to the length. Secrets with fewer than four characters are ignored.
 */
export const repeatsSecret = (text: string, secrets: readonly Secret[]): boolean =>
  repeats(text, secrets.flatMap(stretchesOf), 0);

/** The decoded `text` without `secrets`. If a part of one, or another form of it, remains, nothing of the text does. */
export function withoutSecrets(text: string, secrets: readonly Secret[]): string {
  let clean = decodedText(text) ?? redacted;
  for (const secret of secrets)
    if (secret.reveal().length >= minSecretChars) clean = clean.replaceAll(secret.reveal(), redacted);
  return repeatsSecret(clean, secrets) ? redacted : clean;
}

/** Their values are secret; those in `alone` are also words of many sentences. */
const secretNames =
  '(?<named>(?<=[a-z_-])token|secret|passw(?:or)?d|api[_-]?key|authorization|cookie)|(?<alone>\\b(?:token|code|bearer|basic))';
/** The separator between name and value (quotes, a colon, an equals sign or a space), and the value. */
const values = [
  String.raw`(\\*"?\s*[:=]\s*\\*")((?:[^"\\]|\\+(?!["\\]))+)`,
  String.raw`(\\*'?\s*[:=]\s*\\*')((?:[^'\\]|\\+(?!['\\]))+)`,
  String.raw`(["'\\]*\s*[:=]\s*(?:(?:bearer|basic)\s+)?)([^\s"'\\&,;}]+)`,
  String.raw`(\s+)([^\s"'\\&,;}]+)`,
];
const namedValue = new RegExp(`(?:${secretNames})(?:${values.join('|')})`, 'gi');

/** Error codes (the bridge's own, Node's, numbers) stay, because an operator needs them. */
const errorCodes = new Set<string>([...faultKinds, 'wrong-shape', 'ABORT_ERR']);
const isErrorCode = (code: string): boolean =>
  errorCodes.has(code) || /^E[A-Z_]{2,24}$/.test(code) || /^\d{1,5}$/.test(code);

/** Looks like a token: longer than most words, and with characters that few words contain. */
const looksSecret = (value: string): boolean => value.length >= 6 && /[\d_.~+/=-]/.test(value);
/** Words that follow "bearer" and "basic" in ordinary sentences. */
const schemeWord = /^(?:tokens?|auth\w*|credentials?|schemes?|realm)\b/i;

/** Removes values by their names, such as `id_token=…`, from a decoded text (text.ts). Words of a sentence stay. */
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

import type { Writable } from 'node:stream';
import { redact, redactedText } from '../shared/domain/redaction.ts';
import { printableJson, printableLine } from '../shared/domain/text.ts';
import type { Fields, Observer } from '../shared/ports/observer.ts';

const levels = ['info', 'warn', 'error'] as const;
export type Level = (typeof levels)[number];

interface Entry {
  readonly time: string;
  readonly level: Level;
  readonly message: string;
  readonly fields: Fields;
}

/** Logs one line each. Ignores metrics: `status` shows the books of an embedded bridge. */
const createObserver = (output: Writable, least: Level, lineOf: (entry: Entry) => string): Observer => {
  const at =
    (level: Level) =>
    (message: string, fields: Fields = {}) => {
      if (levels.indexOf(level) < levels.indexOf(least)) return;
      output.write(`${lineOf({ time: new Date().toISOString(), level, message, fields })}\n`);
    };
  return { info: at('info'), warn: at('warn'), error: at('error'), count: () => undefined };
};

/** Lines for people: time, level, message, fields. */
export const createTextObserver = (output: Writable, least: Level): Observer =>
  createObserver(output, least, ({ time, level, message, fields }) =>
    printableLine(redactedText(`${time} ${level} ${message}${textOf(fields)}`)),
  );

/** Lines of JSON for a log collector: `time`, `level`, `message`, and the fields. */
export const createJsonObserver = (output: Writable, least: Level): Observer =>
  createObserver(output, least, ({ fields, ...entry }) =>
    printableJson(
      JSON.stringify({ ...fields, ...entry }, (key, value) =>
        redact(key, value instanceof Error ? value.message : value),
      ),
    ),
  );

const textOf = (fields: Fields): string =>
  Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => ` ${name}=${plain(value)}`)
    .join('');

/** Shows errors by their message: a stack trace does not help a person who runs the bridge. */
function plain(value: unknown): string {
  if (value instanceof Error) return JSON.stringify(value.message);
  return typeof value === 'string' && /^[\w./:-]+$/.test(value) ? value : JSON.stringify(value);
}

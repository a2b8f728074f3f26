import type { Writable } from 'node:stream';
import { redact, redactedText } from '../shared/domain/redaction.ts';
import { printableLine } from '../shared/domain/text.ts';
import type { Fields, Observer } from '../shared/ports/observer.ts';

const levels = ['info', 'warn', 'error'] as const;
type Level = (typeof levels)[number];

/**
 * Logs one line each: for people time, level, message and fields; or as JSON for a log collector. Ignores metrics:
 * `status` shows the books of an embedded bridge.
 */
export function createTextObserver(output: Writable, least: Level, { json = false } = {}): Observer {
  const at =
    (level: Level) =>
    (message: string, fields: Fields = {}) => {
      if (levels.indexOf(level) < levels.indexOf(least)) return;
      const time = new Date().toISOString();
      const line = json
        ? printableLine(JSON.stringify({ ...fields, time, level, message }, redactedValue))
        : printableLine(redactedText(`${time} ${level} ${message}${fieldsText(fields)}`));
      output.write(`${line}\n`);
    };
  return { info: at('info'), warn: at('warn'), error: at('error'), count: () => undefined };
}

const redactedValue = (key: string, value: unknown): unknown =>
  redact(key, value instanceof Error ? value.message : value);

const fieldsText = (fields: Fields): string =>
  Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => ` ${name}=${plain(value)}`)
    .join('');

/** Shows errors by their message: a stack trace does not help a person who runs the bridge. */
function plain(value: unknown): string {
  if (value instanceof Error) return JSON.stringify(value.message);
  return typeof value === 'string' && /^[\w./:-]+$/.test(value) ? value : JSON.stringify(value);
}

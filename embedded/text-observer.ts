import type { Writable } from 'node:stream';
import { redactedText } from '../shared/domain/redaction.ts';
import { printableLine } from '../shared/domain/text/printable.ts';
import type { Fields, Observer } from '../shared/ports/observer.ts';

const levels = ['info', 'warn', 'error'] as const;
export type Level = (typeof levels)[number];

/**
 * Logs one line each: time, level, message, fields. Ignores metrics: `status` shows the books of an embedded bridge.
 */
export function createTextObserver(output: Writable, least: Level): Observer {
  const at =
    (level: Level) =>
    (message: string, fields: Fields = {}) => {
      if (levels.indexOf(level) < levels.indexOf(least)) return;
      const line = `${new Date().toISOString()} ${level} ${message}${textOf(fields)}`;
      output.write(`${printableLine(redactedText(line))}\n`);
    };
  return { info: at('info'), warn: at('warn'), error: at('error'), count: () => undefined };
}

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

const shape = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?(?:Z|([+-])(\d{2}):?(\d{2}))$/;

/**
 * Reads an ISO 8601 date-time with a time zone. Digits beyond milliseconds are ignored; this does not affect
 * "strictly after", because changes are recorded in whole milliseconds.
 * @returns milliseconds since 1970, or undefined for any other text
 * @see partner-api.md §4.1
 */
export function parseSince(text: string): number | undefined {
  const parts = shape.exec(text);
  if (parts === null) return undefined;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = parts.slice(1, 7).map(Number);
  const milliseconds = Number((parts[7] ?? '').padEnd(3, '0').slice(0, 3));
  const offsetHours = Number(parts[9] ?? 0);
  const offsetMinutes = Number(parts[10] ?? 0);
  if (hour > 23 || minute > 59 || second > 59 || offsetHours > 23 || offsetMinutes > 59) return undefined;
  const localMs = Date.UTC(year, month - 1, day, hour, minute, second, milliseconds);
  // Date.UTC converts 30 February to March; such a date is an error of the caller.
  const local = new Date(localMs);
  if (local.getUTCMonth() !== month - 1 || local.getUTCDate() !== day) return undefined;
  const offsetMs = (offsetHours * 60 + offsetMinutes) * 60_000;
  return parts[8] === '-' ? localMs + offsetMs : localMs - offsetMs;
}

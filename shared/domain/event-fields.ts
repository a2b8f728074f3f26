/** What an event carries beside the status, by the setting `eventFields`. */
export interface EventFields {
  /** Values by their paths, as they were in the answer. What the service left out is absent. */
  readonly fields?: Readonly<Record<string, unknown>>;
  /** Paths whose values had no room any more, are nested too deeply, or hold a rounded number. */
  readonly fieldsLeftOut?: string[];
}

/** All fields of an event together: an event of EventBridge may have 256 KB, but each is paid for by 64 KB, its row by 1 KB. */
export const maxFieldsBytes = 8_192;

/** No reader has trouble with as many; JSON with thousands of levels cannot even be written. */
const maxLevels = 32;

/**
 * Copies values out of an advert, in the order of the paths, as long as there is room.
 *
 * @param advert as the partner service sent it
 * @param paths such as `title` or `price.value`
 */
export function copyFields(advert: unknown, paths: readonly string[]): EventFields {
  const fields: Record<string, unknown> = {};
  const leftOut: string[] = [];
  let bytes = 2;
  for (const path of paths) {
    const value = valueAt(advert, path);
    if (value === undefined) continue;
    if (!isExact(value, maxLevels)) {
      leftOut.push(path);
      continue;
    }
    const size = Buffer.byteLength(`${JSON.stringify(path)}:${JSON.stringify(value)},`);
    if (bytes + size > maxFieldsBytes) leftOut.push(path);
    else {
      fields[path] = value;
      bytes += size;
    }
  }
  return {
    ...(Object.keys(fields).length > 0 && { fields }),
    ...(leftOut.length > 0 && { fieldsLeftOut: leftOut }),
  };
}

function valueAt(value: unknown, path: string): unknown {
  let found = value;
  for (const name of path.split('.')) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name)) return undefined;
    found = (found as Record<string, unknown>)[name];
  }
  return found;
}

/**
 * Whether the value can be copied as it was sent: it has no more than so many levels, and no whole number beyond 2^53,
 * which JavaScript has rounded when it read the answer, and no number that is infinite by then.
 */
function isExact(value: unknown, levels: number): boolean {
  if (typeof value === 'number')
    return Number.isSafeInteger(value) || (Number.isFinite(value) && !Number.isInteger(value));
  if (typeof value !== 'object' || value === null) return true;
  return levels > 0 && Object.values(value).every((inner) => isExact(inner, levels - 1));
}

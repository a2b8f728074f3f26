/** What an event carries beside the status, by the setting `eventFields`. */
export interface EventFields {
  /** Values by their paths, as they were in the answer. What the service left out is absent. */
  readonly fields?: Readonly<Record<string, unknown>>;
  /** Paths whose values had no room any more, or are nested too deeply. */
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
    if (!isWithin(value, maxLevels)) {
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

/** Whether the value has no more than so many levels of objects and arrays. */
const isWithin = (value: unknown, levels: number): boolean =>
  typeof value !== 'object' ||
  value === null ||
  (levels > 0 && Object.values(value).every((inner) => isWithin(inner, levels - 1)));

import { Secret } from './secret.ts';

/** Values that an event carries in addition to the status (setting `eventFields`). */
export interface EventFields {
  /** Values of the answer, by path. A value that the service did not send is absent. */
  readonly fields?: Readonly<Record<string, unknown>>;
  /** Paths whose values did not fit, are nested too deeply, or contain a rounded number or a secret. */
  readonly fieldsLeftOut?: string[];
}

/**
 * Limit for all fields of an event together. EventBridge allows 256 KB, but charges per 64 KB, and DynamoDB charges the
 * row per 1 KB.
 */
export const maxFieldsBytes = 8_192;

/** Maximum nesting. Every JSON parser supports this many levels; JSON with thousands of levels cannot even be written. */
const maxLevels = 32;

/**
 * Copies values from an advert, in the order of the paths, until the limit is reached.
 *
 * @param advert as the partner service sent it, with a {@link Secret} in the place of what repeats a credential
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
    if (found instanceof Secret) return found;
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name)) return undefined;
    found = (found as Record<string, unknown>)[name];
  }
  return found;
}

/**
 * Whether the value can be copied exactly: it does not have too many levels, and contains no secret, no integer beyond 2^53, which
 * JavaScript has rounded when it parsed the answer, and no number that JavaScript has parsed as infinite.
 */
function isExact(value: unknown, levels: number): boolean {
  if (typeof value === 'number')
    return Number.isSafeInteger(value) || (Number.isFinite(value) && !Number.isInteger(value));
  if (typeof value !== 'object' || value === null) return true;
  return (
    !(value instanceof Secret) &&
    levels > 0 &&
    Object.values(value).every((inner) => isExact(inner, levels - 1))
  );
}

/**
 * Whether a contract only adds to the last released one. This must hold in both directions: subscribers that know the
 * released schema accept newly published events, and archived events, which can be replayed, are valid under the new
 * schema.
 */
import { isDeepStrictEqual } from 'node:util';
import { dereferenced, type JsonSchema } from './schemas.ts';

export interface Contract {
  /** Such as `1.0`. */
  readonly schemaVersion: string;
  readonly schemas: Readonly<Record<string, JsonSchema>>;
}

/** Keywords for people, which may change at any time. */
const annotations = new Set(['$comment', '$id', '$schema', 'default', 'description', 'examples', 'title']);
const compared = new Set(['properties', 'required', 'items', 'anyOf']);

/** Each change that is not an addition, such as `AdvertStatusChanged: detail.data.status: removed`; empty if none. */
export function incompatibilities(released: Contract, current: Contract): string[] {
  const found = Object.entries(released.schemas).flatMap(([detailType, schema]) => {
    const now = current.schemas[detailType];
    if (!now) return [`${detailType}: the detail type is gone`];
    return changes(dereferenced(schema), dereferenced(now), '').map((change) => `${detailType}: ${change}`);
  });
  return [...found, ...versionFaults(released, current)];
}

function changes(was: JsonSchema, is: JsonSchema, place: string): string[] {
  const at = (text: string) => (place ? `${place}: ${text}` : text);
  const keywords = new Set([...Object.keys(was), ...Object.keys(is)]);
  const plain = [...keywords]
    .filter((keyword) => !annotations.has(keyword) && !compared.has(keyword))
    .filter((keyword) => !isDeepStrictEqual(was[keyword], is[keyword]))
    .map((keyword) => at(`${keyword} was ${inWords(was[keyword])}, is ${inWords(is[keyword])}`));
  return [
    ...plain,
    ...requiredChanges(was, is, place),
    ...propertyChanges(was, is, place),
    ...itemChanges(was, is, place),
    ...alternativeChanges(was, is, place),
  ];
}

function requiredChanges(was: JsonSchema, is: JsonSchema, place: string): string[] {
  const before = new Set(was.required);
  const after = new Set(is.required);
  const inner = (name: string) => join(place, name);
  return [
    ...[...before].filter((name) => !after.has(name)).map((name) => `${inner(name)}: no longer always there`),
    ...[...after]
      .filter((name) => !before.has(name))
      .map((name) => `${inner(name)}: newly required, but events in the archive do not have it`),
  ];
}

function propertyChanges(was: JsonSchema, is: JsonSchema, place: string): string[] {
  return Object.entries(was.properties ?? {}).flatMap(([name, schema]) => {
    const now = is.properties?.[name];
    return now ? changes(schema, now, join(place, name)) : [`${join(place, name)}: removed`];
  });
}

function itemChanges(was: JsonSchema, is: JsonSchema, place: string): string[] {
  if (!was.items && !is.items) return [];
  if (!was.items || !is.items) return [`${place}: items was ${inWords(was.items)}, is ${inWords(is.items)}`];
  return changes(was.items, is.items, `${place}[]`);
}

function alternativeChanges(was: JsonSchema, is: JsonSchema, place: string): string[] {
  const before = was.anyOf ?? [];
  const after = is.anyOf ?? [];
  if (before.length !== after.length)
    return [`${place}: it could be ${before.length} things, and can be ${after.length}`];
  return before.flatMap((schema, index) => changes(schema, after[index] as JsonSchema, place));
}

function versionFaults(released: Contract, current: Contract): string[] {
  const [wasMajor, wasMinor] = numbersOf(released.schemaVersion);
  const [major, minor] = numbersOf(current.schemaVersion);
  if (major !== wasMajor) {
    return [
      `schemaVersion: ${current.schemaVersion} has another major than the released ${released.schemaVersion}; what breaks is a new detail type`,
    ];
  }
  if (minor < wasMinor)
    return [`schemaVersion: ${current.schemaVersion} is less than the released ${released.schemaVersion}`];
  if (minor === wasMinor && !isDeepStrictEqual(bareAll(released), bareAll(current))) {
    return [
      `schemaVersion: the contract differs from the released ${released.schemaVersion}: raise the minor number in shared/contract/names.ts`,
    ];
  }
  return [];
}

const bareAll = ({ schemas }: Contract): unknown[] =>
  Object.entries(schemas).map(([detailType, schema]) => [detailType, bare(dereferenced(schema))]);

/**
 * Removes keywords for people. A field may be called `title` or `default`: keys of `properties` are names, not
 * keywords.
 */
function bare(value: unknown, areNames = false): unknown {
  if (Array.isArray(value)) return value.map((inner) => bare(inner, false));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => areNames || !annotations.has(key))
      .map(([key, inner]) => [key, bare(inner, !areNames && key === 'properties')]),
  );
}

const numbersOf = (version: string): [number, number] => {
  const [major = Number.NaN, minor = Number.NaN] = version.split('.').map(Number);
  return [major, minor];
};
const join = (place: string, name: string): string => (place ? `${place}.${name}` : name);
const inWords = (value: unknown): string => (value === undefined ? 'not set' : JSON.stringify(value));

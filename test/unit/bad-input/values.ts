/** Input as it comes from a careless editor, another version or a broken proxy: right but for one or two places. */
import fc from 'fast-check';
import { expect } from 'vitest';

/** Stands in everything that could be a secret; no message may repeat it. */
export const marker = 'SESAME77';

const nested = (depth: number): unknown => JSON.parse(`${'[{"a":'.repeat(depth)}1${'}]'.repeat(depth)}`);

/** As parsed, so that the key is the object's own. */
const prototypeKeys = () =>
  JSON.parse(
    `{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}},"toString":1}`,
  ) as unknown;

/** The table of hostile values: for a field, an entry of a page or a status, in the tests of a whole life and of each reader. */
const oddValues: readonly unknown[] = [
  ...[null, true, false, [], {}, [null], [[]]],
  ...[0, -0, -1, 0.1, 1.5, 2 ** 31, 2 ** 53, 2 ** 64, 1e21, 1e308, -1e308, 5e-324],
  ...['', ' ', '\n', '0', '-1', '1e9', 'NaN', 'null', '__proto__', '\u0000', '\uffff', '\ud800'],
  ...['\ufeff1', '\u0661\u0662', '1/../2', '😀', `${marker} \u202e`, '9'.repeat(400)],
  ...['x'.repeat(5_000), nested(200), prototypeKeys()],
];

/** Unexpected values for a field: those of the table, and any other. */
export const oddValue: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...oddValues) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 20 }) },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2 }) },
);

/** What a careless or hostile service may put into its answers, with characters that each form of writing changes. */
export const secrets = {
  client: 'client hush+"secret"/1=é',
  otherClient: 'another hush=2',
  code: 'not a=code/at+all "really"',
  refreshToken: 'first refresh+token/"quoted"=2',
  wrongToken: 'not a=token/at+all',
};

/** A page of the feed with these IDs among all hostile values, in JSON; one nested deeper than `JSON.stringify` can write. */
export const hostilePage = (ids: readonly string[], echoes: readonly string[]) => {
  const deep = `${'['.repeat(10_000)}${']'.repeat(10_000)}`;
  const entries = [...echoes, ...oddValues, ...ids].map((entry) => JSON.stringify(entry));
  return `{"data":[${[...entries, deep]}],"hasMore":false,"nextCursor":"next"}`;
};

/** Bodies that no reader takes for a page. */
export const noPages = [
  ...['', 'null', '[]', '{}', '{"data":["1"]', '<html>', '{"data":{},"hasMore":false,"nextCursor":"n"}'],
  ...['{"data":["1"],"hasMore":false}', '{"data":["1"],"hasMore":"no","nextCursor":"n"}'],
  `{"data":["1"],"hasMore":false,"nextCursor":${JSON.stringify([marker])}}`,
];

type Path = readonly string[];
type Fields = Record<string, unknown>;

const isFields = (value: unknown): value is Fields => typeof value === 'object' && value !== null;

/** The paths of all values inside `value`, without the root. */
function placesIn(value: unknown, at: Path = []): Path[] {
  if (!isFields(value)) return [];
  return Object.keys(value).flatMap((key) => [[...at, key], ...placesIn(value[key], [...at, key])]);
}

const kinds = ['drop', 'rename', 'as-text', 'wrap', 'replace', 'replace', 'add'] as const;
interface Change {
  readonly kind: (typeof kinds)[number];
  readonly value: unknown;
}

function changed(root: unknown, path: Path, { kind, value }: Change): unknown {
  const copy = structuredClone(root);
  const last = path.at(-1);
  const parent = path.slice(0, -1).reduce<unknown>((at, key) => (isFields(at) ? at[key] : undefined), copy);
  if (last === undefined || !isFields(parent)) return copy;
  const before = parent[last];
  if (kind === 'drop' || kind === 'rename') delete parent[last];
  if (kind === 'rename') parent[`${last}_`] = before ?? null;
  if (kind === 'as-text')
    parent[last] = typeof before === 'string' ? before.length : (JSON.stringify(before) ?? null);
  if (kind === 'wrap') parent[last] = [before ?? null];
  if (kind === 'replace') parent[last] = value;
  if (kind === 'add') parent[`${last}2`] = value;
  return copy;
}

/** `right` with one to three places changed, or something else altogether. */
export function nearlyRight(right: unknown): fc.Arbitrary<unknown> {
  const places = placesIn(right);
  const change = fc.record({ kind: fc.constantFrom(...kinds), value: oddValue });
  const changes = fc.array(fc.record({ place: fc.nat(), what: change }), { minLength: 1, maxLength: 3 });
  const mutated = changes.map((all) =>
    all.reduce<unknown>((value, { place, what }) => {
      const path = places[place % places.length] ?? [];
      return changed(value, path, what);
    }, right),
  );
  return fc.oneof({ weight: 6, arbitrary: mutated }, { weight: 1, arbitrary: oddValue });
}

const deepTexts = ['['.repeat(20_000), `{"error":${'{"error":'.repeat(2_000)}1${'}'.repeat(2_001)}`];

/** The JSON of such a value: whole, cut off, with a byte order mark, with a prototype key; or any text. */
export function nearlyRightJson(right: unknown): fc.Arbitrary<string> {
  const text = nearlyRight(right).map((value) => JSON.stringify(value) ?? '');
  return fc.oneof(
    { weight: 5, arbitrary: text },
    {
      weight: 1,
      arbitrary: fc.tuple(text, fc.nat()).map(([all, at]) => all.slice(0, at % (all.length + 1))),
    },
    { weight: 1, arbitrary: text.map((all) => `\ufeff${all}`) },
    { weight: 1, arbitrary: text.map((all) => all.replace('{', '{"__proto__":{"polluted":true},')) },
    {
      weight: 1,
      arbitrary: fc.oneof(fc.string({ unit: 'binary' }), fc.json(), fc.constantFrom(...deepTexts)),
    },
  );
}

/** Some of these fields. */
export const recordOf = (names: readonly string[], value: fc.Arbitrary<unknown>) =>
  fc.record(Object.fromEntries(names.map((name) => [name, value])), { requiredKeys: [] });

/** The error that `work` ends in; undefined when it ends well. */
export async function errorOf(work: () => unknown): Promise<unknown> {
  try {
    await work();
    return undefined;
  } catch (error) {
    return error;
  }
}

/** Nothing of the input got into the message, or onto the prototype of everything. */
export function expectNoTrace(error: unknown): void {
  expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  if (error === undefined) return;
  expect(error).toBeInstanceOf(Error);
  expect(String((error as Error).message)).not.toContain(marker);
  expect(JSON.stringify(error)).not.toContain(marker);
}

import assert from 'node:assert/strict';
import * as v from 'valibot';

const text = v.pipe(v.string(), v.nonEmpty());
const bomRef = v.pipe(v.string(), v.regex(/^(@[\w.-]+\/)?[\w.-]+@\d+\.\d+\.\d+/));
const component = v.object({
  'bom-ref': bomRef,
  type: v.picklist(['library', 'application', 'framework']),
  name: text,
  version: text,
  purl: v.pipe(v.string(), v.regex(/^pkg:npm\/.+@.+$/)),
});

/** What CycloneDX 1.5 asks for, as far as this repository uses it. @see https://cyclonedx.org/docs/1.5/json/ */
const cycloneDx = v.object({
  bomFormat: v.literal('CycloneDX'),
  specVersion: v.literal('1.5'),
  serialNumber: v.pipe(v.string(), v.regex(/^urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)),
  version: v.pipe(v.number(), v.integer(), v.minValue(1)),
  metadata: v.object({ timestamp: v.pipe(v.string(), v.isoTimestamp()), component }),
  components: v.pipe(
    v.array(
      v.object({
        ...component.entries,
        scope: v.literal('required'),
        hashes: v.tuple([
          v.object({ alg: v.literal('SHA-512'), content: v.pipe(v.string(), v.regex(/^[0-9a-f]{128}$/)) }),
        ]),
        licenses: v.pipe(v.array(v.looseObject({})), v.minLength(1)),
        properties: v.array(v.object({ name: v.literal('advert-bridge:in'), value: text })),
      }),
    ),
    v.minLength(1),
  ),
  dependencies: v.array(v.object({ ref: bomRef, dependsOn: v.array(bomRef) })),
});

/**
 * Checks a bill of materials by what else the package says of itself.
 *
 * @param licenses of what is in the command line's file, each under `name version`
 * @returns what it names, in short
 * @throws when it is not of its shape, names something twice, or something else than what is in the package
 */
export function checkSbom(
  sbom: unknown,
  packed: { readonly version: string; readonly licenses: string; readonly dependencies: readonly string[] },
): void {
  const { metadata, components, dependencies } = v.parse(cycloneDx, sbom);
  assert.equal(metadata.component.purl, `pkg:npm/advert-bridge@${packed.version}`);
  assert.equal(metadata.component.name, 'advert-bridge');

  const refs = components.map((each) => each['bom-ref']);
  assert.equal(new Set(refs).size, refs.length, 'something is named twice');
  const known = new Set([...refs, metadata.component['bom-ref']]);
  const strays = dependencies.flatMap(({ ref, dependsOn }) =>
    [ref, ...dependsOn].filter((each) => !known.has(each)),
  );
  assert.deepEqual(strays, []);

  const placed = (place: string) =>
    components.filter(({ properties }) => properties.some(({ value }) => value === place));
  const licensed = packed.licenses.split(/^-{80}$/m).map((section) =>
    section
      .trim()
      .split('\n')[0]
      ?.replace(/ (?=[^ ]+$)/, '@'),
  );
  assert.deepEqual(
    placed('command line')
      .map((each) => each['bom-ref'])
      .toSorted(),
    licensed.toSorted(),
  );
  assert.deepEqual(
    placed('dependency').map(({ name }) => name),
    packed.dependencies,
  );
  assert.ok(
    placed('functions').some(({ name }) => name === '@middy/core'),
    'the functions are left out',
  );
}

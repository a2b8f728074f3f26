import assert from 'node:assert/strict';
import * as v from 'valibot';

const text = v.pipe(v.string(), v.nonEmpty());
const bomRef = v.pipe(v.string(), v.regex(/^(@[\w.-]+\/)?[\w.-]+@\d+\.\d+\.\d+/));
const purl = v.pipe(v.string(), v.regex(/^pkg:npm\/.+@.+$/));
const component = { 'bom-ref': bomRef, type: text, name: text, version: text, purl };
const hash = v.object({ alg: v.literal('SHA-512'), content: v.pipe(v.string(), v.regex(/^[0-9a-f]{128}$/)) });

/** What CycloneDX 1.5 asks for, as far as this repository uses it. @see https://cyclonedx.org/docs/1.5/json/ */
const cycloneDx = v.object({
  bomFormat: v.literal('CycloneDX'),
  specVersion: v.literal('1.5'),
  serialNumber: v.pipe(v.string(), v.regex(/^urn:uuid:[0-9a-f-]{36}$/)),
  metadata: v.object({
    timestamp: v.pipe(v.string(), v.isoTimestamp()),
    component: v.object(component),
  }),
  components: v.array(
    v.object({
      ...component,
      hashes: v.tuple([hash]),
      licenses: v.pipe(v.array(v.looseObject({})), v.minLength(1)),
      properties: v.array(v.object({ name: v.literal('advert-bridge:in'), value: text })),
    }),
  ),
  dependencies: v.array(v.object({ ref: bomRef, dependsOn: v.array(bomRef) })),
});

/**
 * Checks a bill of materials by what else the package says of itself.
 *
 * @param licenses of what is in the command line's file, each under `name version`
 * @throws when it is not of its shape, names something twice, or something else than what is in the package
 */
export function checkSbom(
  sbom: unknown,
  packed: { readonly version: string; readonly licenses: string; readonly dependencies: readonly string[] },
): void {
  const { metadata, components, dependencies } = v.parse(cycloneDx, sbom);
  assert.equal(metadata.component.purl, `pkg:npm/advert-bridge@${packed.version}`);

  const refs = [metadata.component, ...components].map((each) => each['bom-ref']);
  const known = new Set(refs);
  assert.equal(known.size, refs.length, 'something is named twice');
  const linked = dependencies.flatMap(({ ref, dependsOn }) => [ref, ...dependsOn]);
  assert.deepEqual(
    linked.filter((each) => !known.has(each)),
    [],
  );

  const placed = (place: string) =>
    components.filter(({ properties }) => properties.some(({ value }) => value === place));
  const licensed = packed.licenses.split(/^-{80}$/m).map(
    (section) =>
      section
        .trim()
        .split('\n')[0]
        ?.replace(/ (?=[^ ]+$)/, '@') ?? '',
  );
  const inCommandLine = placed('command line').map((each) => each['bom-ref']);
  assert.deepEqual(inCommandLine.toSorted(), licensed.toSorted());
  const brought = placed('dependency').map(({ name }) => name);
  assert.deepEqual(brought, packed.dependencies);
  assert.ok(placed('functions').some(({ name }) => name === '@middy/core'));
}

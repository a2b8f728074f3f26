import assert from 'node:assert/strict';

interface Component extends Readonly<Record<'bom-ref' | 'name' | 'purl', string>> {
  readonly hashes: readonly unknown[];
  readonly licenses: readonly unknown[];
  readonly properties: readonly { readonly value: string }[];
}

/** In CycloneDX, as npm writes it; the place of each component is ours. */
interface Sbom {
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

/**
 * Checks a bill of materials by what else the package says of itself.
 *
 * @param licenses of what is in the command line's file, each under `name version`
 * @throws {AssertionError} when it names something twice, or something else than what is in the package
 */
export function checkSbom(
  { metadata, components, dependencies }: Sbom,
  packed: { readonly version: string; readonly licenses: string; readonly dependencies: readonly string[] },
): void {
  assert.equal(metadata.component.purl, `pkg:npm/advert-bridge@${packed.version}`);

  const refs = [metadata.component, ...components].map((each) => each['bom-ref']);
  const known = new Set(refs);
  assert.equal(known.size, refs.length, 'something is named twice');
  const linked = dependencies.flatMap(({ ref, dependsOn }) => [ref, ...dependsOn]);
  assert.deepEqual(
    linked.filter((each) => !known.has(each)),
    [],
  );

  for (const { purl, hashes, licenses } of components)
    assert.ok(hashes.length > 0 && licenses.length > 0, `${purl} has no hash or no licence`);
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
  assert.ok(placed('functions').some(({ name }) => name === '@aws-lambda-powertools/logger'));
}

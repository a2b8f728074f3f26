/**
 * Writes the published contract from the valibot schemas: `docs/schemas/<DetailType>.schema.json`,
 * `AdvertBridgeEvent.schema.json` for all of them, `docs/asyncapi.json` and the test vectors
 * `docs/subscribe/vectors.json`. Also writes what is derived from the settings: the properties of `AdvertBridge` and the
 * table in docs/operate/deploy.md.
 *
 *     npm run generate                  writes the files
 *     npm run generate -- --check       writes nothing; fails when a committed file is out of date, or when the contract
 *                                       does not only add to the released one
 *     npm run generate -- --release     writes the files, and also as the released contract (docs/schemas/released)
 */
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { schemaVersion } from '../../shared/contract/names.ts';
import { asyncApiDocument } from './asyncapi.ts';
import { type Contract, incompatibilities } from './compatibility.ts';
import { anyEvent, anyEventSchema, eventDetailTypes, type JsonSchema, schemaOf } from './schemas.ts';
import { settingsInterface, withSettingsTable } from './settings.ts';
import { vectorsText } from './vectors.ts';

const { values: options } = parseArgs({
  options: { check: { type: 'boolean' }, release: { type: 'boolean' } },
});
const docs = join(import.meta.dirname, '../../docs');
const schemas = join(docs, 'schemas');
const released = join(schemas, 'released');
const fileName = (detailType: string) => `${detailType}.schema.json`;

const schemasOfEvents = Object.fromEntries(
  eventDetailTypes.map((detailType) => [detailType, schemaOf(detailType)]),
);
const current: Contract = { schemaVersion, schemas: schemasOfEvents };

const read = (file: string): string | undefined => {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
};
const textOf = (value: unknown): string => `${JSON.stringify(value, undefined, 2)}\n`;
const filesIn = (folder: string): Map<string, string> =>
  new Map(
    Object.entries(schemasOfEvents).map(([type, schema]) => [join(folder, fileName(type)), textOf(schema)]),
  );

interface ReleasedVersion {
  readonly schemaVersion: string;
  readonly detailTypes: readonly string[];
}

/** Includes only existing schemas: removals in a missing schema would go unnoticed, so `missing` is reported. */
function releasedContract(): { contract: Contract; missing: string[] } | undefined {
  const text = read(join(released, 'version.json'));
  if (text === undefined) return undefined;
  const { schemaVersion, detailTypes } = JSON.parse(text) as ReleasedVersion;
  const found = new Map(detailTypes.map((type) => [join(released, fileName(type)), type]));
  const missing = [...found.keys()].filter((file) => read(file) === undefined);
  for (const file of missing) found.delete(file);
  const schemas = [...found].map(([file, type]) => [type, JSON.parse(read(file) ?? '') as JsonSchema]);
  return { contract: { schemaVersion, schemas: Object.fromEntries(schemas) }, missing };
}

function write(files: Map<string, string>): void {
  for (const [file, text] of files) {
    mkdirSync(join(file, '..'), { recursive: true });
    writeFileSync(file, text);
  }
}

function fail(heading: string, lines: readonly string[], advice: string): void {
  console.error(`${heading}\n  ${lines.join('\n  ')}\n${advice}`);
  process.exitCode = 1;
}

const files = filesIn(schemas)
  .set(join(schemas, fileName(anyEvent)), textOf(anyEventSchema()))
  .set(join(docs, 'asyncapi.json'), textOf(asyncApiDocument()))
  .set(join(docs, 'subscribe/vectors.json'), vectorsText())
  .set(join(docs, '../infra/constructs/props/settings.generated.ts'), settingsInterface())
  .set(join(docs, 'operate/deploy.md'), withSettingsTable(read(join(docs, 'operate/deploy.md')) ?? ''));
if (options.check) {
  const stale = [...files].filter(([file, text]) => read(file) !== text).map(([file]) => relative('', file));
  const orphans = globSync(join(schemas, '*.schema.json')).filter((file) => !files.has(file));
  if (stale.length + orphans.length > 0) {
    fail('Not what the contract says any more:', [...stale, ...orphans], 'Run: npm run generate');
  }
} else write(files);

const before = releasedContract();
const missing = before ? before.missing : options.release ? [] : [join(released, 'version.json')];
const broken = before ? incompatibilities(before.contract, current) : [];
if (missing.length > 0) {
  fail(
    'The released contract cannot be compared with:',
    missing.map((file) => relative('', file)),
    'Restore it from version control.',
  );
} else if (broken.length > 0) {
  fail(
    `Subscribers rely on the contract as it was released (${before?.contract.schemaVersion}), and this is more than an addition:`,
    broken,
    'Add an optional field, or publish a new detail type beside the old one.',
  );
} else if (options.release) {
  const version: ReleasedVersion = { schemaVersion, detailTypes: eventDetailTypes };
  write(filesIn(released).set(join(released, 'version.json'), textOf(version)));
}

/**
 * Writes the JSON Schema of each event from the valibot schemas: `docs/schemas/<DetailType>.schema.json`.
 * With --check writes nothing and fails when a committed file is not what it would write.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { toJsonSchema } from '@valibot/to-json-schema';
import { envelopes } from '../shared/contract/events.ts';

const folder = fileURLToPath(new URL('../docs/schemas/', import.meta.url));

const schemaOf = (detailType: keyof typeof envelopes): string => {
  const schema = toJsonSchema(envelopes[detailType], {
    typeMode: 'output',
    errorMode: 'throw',
    ignoreActions: ['check'],
  });
  const { $schema, ...rest } = schema;
  return `${JSON.stringify({ $schema, title: detailType, ...rest }, undefined, 2)}\n`;
};

const read = (file: string): string => {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
};

const check = process.argv.includes('--check');
const stale: string[] = [];
for (const detailType of Object.keys(envelopes) as (keyof typeof envelopes)[]) {
  const file = `${folder}${detailType}.schema.json`;
  const text = schemaOf(detailType);
  if (read(file) === text) continue;
  if (check) stale.push(file);
  else writeFileSync(file, text);
}
if (stale.length > 0) {
  console.error(`Not what the contract says any more:\n  ${stale.join('\n  ')}\nRun: npm run generate`);
  process.exitCode = 1;
}

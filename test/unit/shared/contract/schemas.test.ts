import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AnySchemaObject } from 'ajv';
import { Ajv } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { parseEvent } from '../../../../kits/typescript/index.ts';
import { dereferenced, type JsonSchema } from '../../../../tools/contract/schemas.ts';

const detailTypes = [
  'AdvertStatusChanged',
  'AdvertUnavailable',
  'PartnerAuthorizationRequired',
  'PartnerAuthorizationRestored',
];
const times = { formats: { 'date-time': true }, strict: true, strictTypes: false } as const;
const json = (file: string) => JSON.parse(readFileSync(file, 'utf8'));
const require = createRequire(import.meta.url);

describe.each(detailTypes)('the published schema of %s', (detailType) => {
  const schema = json(`docs/schemas/${detailType}.schema.json`);
  // Strict: a keyword that is misspelt is a fault, not a comment.
  const valid = new Ajv2020(times).compile(schema);

  it('a published schema has valid examples, for the kit too', () => {
    expect(schema.examples.length).toBeGreaterThan(0);
    for (const example of schema.examples) {
      expect(valid(example), JSON.stringify(valid.errors)).toBe(true);
      expect(parseEvent(example)).toBe(example);
    }
  });

  it('a published schema takes newer minor versions, but no missing field', () => {
    const [example] = schema.examples;
    const { data: _data, ...detail } = example.detail;
    const newer = { ...example, detail: { ...example.detail, added: { deep: true } }, 'new-field': 1 };

    expect([newer, { ...example, detail }].map((event) => valid(event))).toEqual([true, false]);
    expect(valid({ ...example, 'detail-type': 'Other' })).toBe(false);
  });
});

/** The schema with all references replaced by what they refer to. */
function bare(schema: JsonSchema): object {
  const {
    $schema: _dialect,
    $id: _id,
    ...rest
  } = dereferenced(JSON.parse(JSON.stringify(schema).replaceAll('#/components/schemas/', '#/$defs/')));
  return rest;
}

const schema = json('docs/schemas/AdvertBridgeEvent.schema.json');
const valid = new Ajv2020({ ...times, discriminator: true }).compile({
  ...schema,
  // ajv finds the schemas by themselves, and takes no mapping.
  discriminator: { propertyName: 'detail-type' },
});

it.each(detailTypes)('the schema of any event takes %s, as its own schema does', (detailType) => {
  const { examples, ...own } = json(`docs/schemas/${detailType}.schema.json`);

  for (const example of examples) expect(valid(example), JSON.stringify(valid.errors)).toBe(true);
  expect(bare({ ...schema.$defs[detailType], $defs: schema.$defs })).toEqual(bare(own));
});

it('the schema of any event refuses what is none', () => {
  const [example] = schema.examples;

  expect(valid({ ...example, 'detail-type': 'Other' })).toBe(false);
  expect(valid({ ...example, source: 'other' })).toBe(false);
});

const document = json('docs/asyncapi.json');

it('the AsyncAPI document is valid by the schema of its specification', () => {
  const specification: AnySchemaObject = require('@asyncapi/specs/schemas/3.1.0-without-$id.json');
  const ajv = new Ajv({ strict: false, validateFormats: false });
  const valid = ajv.compile(specification);

  expect(valid(document), JSON.stringify(valid.errors)).toBe(true);
  expect(valid({ ...document, channels: { adverts: { address: 7 } } })).toBe(false);
});

it('the AsyncAPI document names every event with its published schema', () => {
  expect(Object.keys(document.channels.adverts.messages)).toEqual(detailTypes);
  for (const detailType of detailTypes) {
    const { examples, ...schema } = json(`docs/schemas/${detailType}.schema.json`);
    const inDocument = { ...document.components.schemas[detailType], $defs: document.components.schemas };
    expect(bare(inDocument)).toEqual(bare(schema));
    expect(document.components.messages[detailType].examples).toEqual(
      examples.map((payload: unknown) => ({ payload })),
    );
  }
});

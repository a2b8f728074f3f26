import { expect, it } from 'vitest';
import { type Contract, incompatibilities } from '../../../../tools/contract/compatibility.ts';
import {
  dereferenced,
  eventDetailTypes,
  type JsonSchema,
  schemaOf,
} from '../../../../tools/contract/schemas.ts';

const contract = (): Contract & { schemas: Record<string, JsonSchema> } => ({
  schemaVersion: '1.3',
  schemas: structuredClone(
    Object.fromEntries(eventDetailTypes.map((type) => [type, dereferenced(schemaOf(type))])),
  ),
});

/** The released contract with a change planted in the schema of AdvertStatusChanged, at a place in its properties. */
function planted(place: string, change: (schema: JsonSchema) => void, schemaVersion = '1.4'): Contract {
  const { schemas } = contract();
  let schema = schemas.AdvertStatusChanged as JsonSchema;
  for (const name of place.split('.').filter(Boolean)) schema = schema.properties?.[name] as JsonSchema;
  change(schema);
  return { schemaVersion, schemas };
}

const remove = (name: string) => (schema: JsonSchema) => {
  delete schema.properties?.[name];
};
const set = (keyword: string, value: unknown) => (schema: JsonSchema) => {
  schema[keyword] = value;
};
const addition = (schema: JsonSchema) =>
  Object.assign(schema.properties ?? {}, { title: { type: 'string' } });

it.each<[string, string, (schema: JsonSchema) => void, string]>([
  ['a removed field', 'detail.data', remove('previousStatus'), 'detail.data.previousStatus: removed'],
  ['another type', 'detail.metadata.sequence', set('type', 'string'), 'type was "integer", is "string"'],
  ['a narrower text', 'detail.data.status', set('maxLength', 64), 'maxLength was 256, is 64'],
  ['a new pattern', 'detail.data.status', set('pattern', '^a'), 'pattern was not set, is "^a"'],
  ['no other fields', 'detail.data', set('additionalProperties', false), 'additionalProperties'],
  ['null no longer', 'detail.data.previousStatus', (schema) => schema.anyOf?.pop(), 'could be 2 things'],
  ['null newly', 'detail.data.status', set('anyOf', [{ type: 'null' }]), 'could be 0 things'],
  ['an item of another type', 'resources', set('items', { type: 'number' }), 'resources[]: type was'],
  [
    'a field that may be missing',
    'detail.data',
    (schema) => schema.required?.pop(),
    'previousStatus: no longer always there',
  ],
  [
    'a new field that must be there',
    'detail.data',
    (schema) => {
      addition(schema);
      schema.required?.push('title');
    },
    'detail.data.title: newly required',
  ],
])('the compatibility check finds %s', (_what, place, change, message) => {
  const found = incompatibilities(contract(), planted(place, change));

  expect(found).toHaveLength(1 + Number(found.length > 1));
  expect(found.join('\n')).toContain(message);
  expect(found.join('\n')).toContain(`AdvertStatusChanged: ${place || 'detail'}`);
});

it('the compatibility check finds a detail type that is gone', () => {
  const now = contract();
  delete now.schemas.AdvertUnavailable;

  expect(incompatibilities(contract(), { ...now, schemaVersion: '1.4' })).toEqual([
    'AdvertUnavailable: the detail type is gone',
  ]);
});

it.each<[string, Contract]>([
  ['the same contract', contract()],
  ['a field that may be missing', planted('detail.data', addition)],
  ['a new detail type', { schemaVersion: '1.4', schemas: { ...contract().schemas, AdvertArchived: {} } }],
  ['other words', planted('detail.data.status', set('description', 'in other words'), '1.3')],
])('the compatibility check lets %s pass', (_what, now) => {
  expect(incompatibilities(contract(), now)).toEqual([]);
});

it.each([
  ['1.3', 'raise the minor number'],
  ['2.0', 'has another major'],
  ['1.2', 'is less than the released 1.3'],
])('the compatibility check refuses the version %s of an addition', (schemaVersion, message) => {
  const now = planted('detail.data', addition, schemaVersion);

  expect(incompatibilities(contract(), now).join()).toContain(message);
});

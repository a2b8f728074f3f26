import Ajv from 'ajv-draft-04';
import { expect, it } from 'vitest';
import { anAdvertStatusChanged } from '../../kits/typescript/testing/index.ts';
import { detailTypes } from '../../shared/contract/names.ts';
import { synthesized } from '../helpers/synthesized.ts';

const { ofType, one } = synthesized();
const schemas = ofType('AWS::EventSchemas::Schema').map(([, { Properties }]) => Properties);
const valid = (name: string) =>
  new Ajv.default({ formats: { 'date-time': true } }).compile(
    JSON.parse(schemas.find(({ SchemaName }) => SchemaName === `advert-bridge@${name}`).Content),
  );

it('the schema registry has one schema for each detail type', () => {
  expect(one('AWS::EventSchemas::Registry').Properties.RegistryName).toBe('advert-bridge');
  expect(schemas.map(({ SchemaName }) => SchemaName).sort()).toEqual(
    Object.values(detailTypes)
      .map((detailType) => `advert-bridge@${detailType}`)
      .sort(),
  );
});

it('registered schemas are of draft 4 and at most 100 KB', () => {
  for (const { Type, Content } of schemas) {
    expect(Type).toBe('JSONSchemaDraft4');
    expect(Content.length).toBeLessThan(100_000);
    expect(Content).not.toMatch(/"const"|"examples"|"\$defs"|draft-07|2020-12/);
  }
});

it('registered schemas accept the events that the published schema accepts', () => {
  const event = anAdvertStatusChanged();

  expect(valid('AdvertStatusChanged')(event)).toBe(true);
  expect(valid('AdvertStatusChanged')({ ...event, source: 'other' })).toBe(false);
  expect(valid('AdvertUnavailable')(event)).toBe(false);
});

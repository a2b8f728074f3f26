import { readFileSync } from 'node:fs';
import { InputData, JSONSchemaInput, quicktype } from 'quicktype-core';
import { expect, it } from 'vitest';

const schema = readFileSync('docs/schemas/AdvertBridgeEvent.schema.json', 'utf8');

/** Types as docs/subscribe/not-typescript.md makes them: one for each definition. */
async function generated(lang: 'go' | 'java' | 'cs'): Promise<string> {
  const source = new JSONSchemaInput(undefined);
  await source.addSource({ name: 'AdvertBridgeEvent', schema, uris: ['#/$defs/'] });
  const inputData = new InputData();
  inputData.addInput(source);
  return (
    await quicktype({ inputData, lang, rendererOptions: { package: 'events', namespace: 'Events' } })
  ).lines.join('\n');
}

const names = [
  'AdvertMetadata',
  'AdvertStatusChanged',
  'AdvertStatusChangedData',
  'AdvertStatusChangedDetail',
  'AdvertUnavailable',
  'AdvertUnavailableData',
  'AdvertUnavailableDetail',
  'AuthorizationData',
  'AuthorizationDetail',
  'AuthorizationMetadata',
  'PartnerAuthorizationRequired',
  'PartnerAuthorizationRestored',
];

it.each([
  ['go', /ObservedAt +time\.Time[\s\S]*Sequence +int64/],
  ['java', /private OffsetDateTime observedAt;[\s\S]*private long sequence;/],
  ['cs', /public DateTimeOffset ObservedAt [\s\S]*public long Sequence /],
] as const)('the types that quicktype generates in %s have the names of the schema', async (lang, fields) => {
  const code = await generated(lang);
  const types = [
    ...code.matchAll(/^(?:public class (\w+)|type (\w+) struct| {4}public partial class (\w+))/gm),
  ].map((one) => one[1] ?? one[2] ?? one[3]);

  // C# adds a second part to each class.
  expect([...new Set(types)].filter((name) => name !== 'Converter').sort()).toEqual(names);
  expect(code).toMatch(fields);
});

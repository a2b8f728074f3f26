import { readFileSync } from 'node:fs';
import { InputData, JSONSchemaInput, quicktype } from 'quicktype-core';
import { describe, expect, it } from 'vitest';

const schema = readFileSync('docs/schemas/AdvertBridgeEvent.schema.json', 'utf8');

/** Types as docs/subscribe/not-typescript.md makes them: one for each definition. */
async function generated(lang: 'go' | 'java', rendererOptions: Record<string, string>): Promise<string> {
  const source = new JSONSchemaInput(undefined);
  await source.addSource({ name: 'AdvertBridgeEvent', schema, uris: ['#/$defs/'] });
  const inputData = new InputData();
  inputData.addInput(source);
  return (await quicktype({ inputData, lang, rendererOptions })).lines.join('\n');
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
describe('the types that quicktype generates', () => {
  it('have in Go the names of the schema, and times as times', async () => {
    const code = await generated('go', { package: 'events' });

    expect([...code.matchAll(/^type (\w+) struct/gm)].map(([, name]) => name).sort()).toEqual(names);
    expect(code).toMatch(/ObservedAt +time\.Time/);
    expect(code).toMatch(/Sequence +int64/);
    expect(code).toMatch(/PreviousStatus +\*string/);
  });

  it('have in Java the names of the schema', async () => {
    const code = await generated('java', { package: 'events' });
    const classes = [...code.matchAll(/^public class (\w+)/gm)].map(([, name]) => name);

    expect(classes.filter((name) => name !== 'Converter').sort()).toEqual(names);
    expect(code).toMatch(/private OffsetDateTime observedAt;/);
    expect(code).toMatch(/private long sequence;/);
  });
});

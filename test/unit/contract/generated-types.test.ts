import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { InputData, JSONSchemaInput, quicktype } from 'quicktype-core';
import { describe, expect, it } from 'vitest';
import { scratchFolders } from '../../helpers/scratch-folder.ts';

const folder = scratchFolders();
const file = 'docs/schemas/AdvertBridgeEvent.schema.json';
const schema = readFileSync(file, 'utf8');
const { examples } = JSON.parse(schema) as { examples: Record<string, unknown>[] };

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
/** Only where all checks run: Go compiles its standard library first. */
const hasGo = process.env.CI !== undefined && spawnSync('go', ['version']).status === 0;

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

  it.runIf(hasGo)(
    'bring every example through Go unchanged',
    async () => {
      const place = folder();
      mkdirSync(path.join(place, 'events'));
      writeFileSync(path.join(place, 'go.mod'), 'module roundtrip\n\ngo 1.21\n');
      writeFileSync(path.join(place, 'events/events.go'), await generated('go', { package: 'events' }));
      writeFileSync(path.join(place, 'examples.json'), JSON.stringify(examples));
      writeFileSync(path.join(place, 'main.go'), roundTrip);

      const go = spawnSync('go', ['run', '.'], {
        cwd: place,
        encoding: 'utf8',
        env: { ...process.env, GOFLAGS: '-mod=mod', GOPROXY: 'off' },
      });

      expect(go.stderr).toBe('');
      expect(withTimes(JSON.parse(go.stdout))).toEqual(withTimes(examples));
    },
    300_000,
  );
});

/** Times as instants: Go leaves out zeros behind the point. */
const withTimes = (events: unknown): unknown =>
  JSON.parse(JSON.stringify(events), (name, value) =>
    ['time', 'observedAt', 'listedAt'].includes(name) ? Date.parse(value) : value,
  );

const roundTrip = `package main

import (
	"encoding/json"
	"fmt"
	"os"

	"roundtrip/events"
)

func main() {
	text, _ := os.ReadFile("examples.json")
	var raw []json.RawMessage
	if err := json.Unmarshal(text, &raw); err != nil {
		panic(err)
	}
	var out []json.RawMessage
	for _, each := range raw {
		var kind struct {
			DetailType string \`json:"detail-type"\`
		}
		if err := json.Unmarshal(each, &kind); err != nil {
			panic(err)
		}
		var event any
		switch kind.DetailType {
		case "AdvertStatusChanged":
			event = &events.AdvertStatusChanged{}
		case "AdvertUnavailable":
			event = &events.AdvertUnavailable{}
		case "PartnerAuthorizationRequired":
			event = &events.PartnerAuthorizationRequired{}
		case "PartnerAuthorizationRestored":
			event = &events.PartnerAuthorizationRestored{}
		}
		if err := json.Unmarshal(each, event); err != nil {
			panic(err)
		}
		text, err := json.Marshal(event)
		if err != nil {
			panic(err)
		}
		out = append(out, text)
	}
	text, _ = json.Marshal(out)
	fmt.Println(string(text))
}
`;

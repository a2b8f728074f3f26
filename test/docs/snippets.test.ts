import { globSync, readFileSync } from 'node:fs';
import { DynamoDB } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { dereferenced } from '../../scripts/contract/schemas.ts';
import { envelopes } from '../../shared/contract/events.ts';
import { parseBody } from '../../subscriber/index.ts';
import {
  anAdvertHistory,
  anAdvertStatusChanged,
  anAdvertUnavailable,
  createInMemoryPositions,
  latestStatuses,
  playEvents,
} from '../../subscriber/testing/index.ts';
import { startDynamo } from '../helpers/aws/emulators.ts';
import { matches } from '../helpers/event-pattern.ts';
import { handleMessage } from './by-hand.ts';
import { keepStatus } from './one-write.ts';

const pages = ['README.md', 'kits/typescript/README.md', ...globSync('docs/**/*.md')];
const shownIn = (page: string) =>
  [...readFileSync(page, 'utf8').matchAll(/(?:<!-- snippet: (\S+) -->\n)?```ts\n([\s\S]*?)```/g)].map(
    ([, file, text]) => ({ file, text }),
  );
const events = readFileSync('docs/subscribe/events.md', 'utf8');

describe('snippets', () => {
  it.each(pages)('%s shows only TypeScript that is compiled, as it is compiled', (page) => {
    for (const { file, text } of shownIn(page)) {
      expect(file, `no <!-- snippet: FILE --> before:\n${text}`).toMatch(
        /^(test\/docs|examples\/[\w-]+(\/test)?)\/[\w.-]+\.ts$/,
      );
      expect(text).toBe(readFileSync(file as string, 'utf8'));
    }
  });

  it('are all shown somewhere', () => {
    const shown = pages.flatMap(shownIn).map(({ file }) => file);
    const own = [
      'test/docs/checklists.test.ts',
      'test/docs/install.test.ts',
      'test/docs/paths.test.ts',
      'test/docs/readme.test.ts',
      'test/docs/snippets.test.ts',
    ];

    expect(globSync('test/docs/*.ts').filter((file) => !own.includes(file) && !shown.includes(file))).toEqual(
      [],
    );
  });
});

describe('the pattern of docs/subscribe/guide.md', () => {
  const guide = readFileSync('docs/subscribe/guide.md', 'utf8');
  const [, pattern = ''] = /<!-- pattern -->\n```json\n([\s\S]*?)```/.exec(guide) ?? [];

  it.each([
    [
      'an advert that becomes active',
      true,
      anAdvertStatusChanged({ status: 'active', previousStatus: 'new' }),
    ],
    ['one that was active', true, anAdvertStatusChanged({ status: 'sold', previousStatus: 'active' })],
    ['one that was active and is gone', true, anAdvertUnavailable({ previousStatus: 'active' })],
    ['one that was never active', false, anAdvertStatusChanged({ status: 'sold', previousStatus: 'new' })],
    ['another account', false, anAdvertStatusChanged({ status: 'active', partnerAccount: 'second' })],
  ])('matches %s: %s', (_what, isWanted, event) => {
    expect(matches(JSON.parse(pattern), event)).toBe(isWanted);
  });
});

describe('docs/subscribe/events.md', () => {
  const sections = new Map(events.split(/^## /m).map((text) => [text.split('\n')[0] ?? '', text] as const));

  it.each(Object.keys(envelopes))('has a section on %s', (detailType) => {
    expect([...sections.keys()]).toContain(detailType);
  });

  it.each(['AdvertStatusChanged', 'PartnerAuthorizationRequired'])(
    'has a valid example of %s',
    (detailType) => {
      const [, example] = /<!-- event -->\n```json\n([\s\S]*?)```/.exec(sections.get(detailType) ?? '') ?? [];

      expect(parseBody(example ?? '')['detail-type']).toBe(detailType);
    },
  );

  it.each(['AdvertStatusChanged', 'PartnerAuthorizationRequired'])(
    'says of each field of %s what it is',
    (type) => {
      const schema = JSON.parse(readFileSync(`docs/schemas/${type}.schema.json`, 'utf8'));
      const fields = leavesOf(dereferenced(schema));

      expect(fields.length).toBeGreaterThan(8);
      // A field that both have stands in the first section alone.
      const shown = `${sections.get(type)}${sections.get('AdvertStatusChanged')}`;
      for (const [field, description] of fields) {
        expect(shown).toContain(`| \`${field}\` | ${description} |`);
      }
    },
  );
});

interface Schema {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
}
function leavesOf({ properties = {} }: Schema, place = ''): [string, string][] {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const at = `${place}${name}`;
    return schema.properties ? leavesOf(schema, `${at}.`) : [[at, schema.description ?? '']];
  });
}

describe('the snippets of docs/subscribe, run', () => {
  let server: Awaited<ReturnType<typeof startDynamo>>;
  let dynamodb: DynamoDB;
  beforeAll(async () => {
    server = await startDynamo();
    const credentials = { accessKeyId: '000000000000', secretAccessKey: 'test' };
    dynamodb = new DynamoDB({ endpoint: server.url, region: 'eu-central-1', credentials });
  });
  afterAll(async () => {
    dynamodb.destroy();
    await server.stop();
  });

  it.each([1, 2, 3])('one write keeps the latest status, seed %i', async (seed) => {
    const { name } = await server.positionsTable();
    const history = anAdvertHistory(['new', 'active', null, 'active', 'sold']);

    // All at once: the order is DynamoDB's.
    await Promise.all(
      playEvents(history, { seed })
        .flat()
        .map((event) => keepStatus(dynamodb, name, event)),
    );

    const { Item } = await dynamodb.getItem({ TableName: name, Key: { pk: { S: 'main/123' } } });
    expect(Item?.status?.S).toBe(latestStatuses(history).get('main/123'));
  });

  it('by hand: done, done again, and not done', async () => {
    const said: unknown[] = [];
    for (const method of ['log', 'warn', 'error'] as const) {
      vi.spyOn(console, method).mockImplementation((...words) => void said.push(words.join(' ')));
    }
    const positions = createInMemoryPositions();
    const message = JSON.stringify(anAdvertStatusChanged({ status: 'active' }));

    expect(await handleMessage(message, positions)).toBe(true);
    expect(await handleMessage(message, positions)).toBe(true);
    expect(await handleMessage(JSON.stringify(anAdvertStatusChanged({ sequence: 4 })), positions)).toBe(true);
    expect(await handleMessage('nonsense', positions)).toBe(false);
    expect(said).toEqual([
      'active',
      'active',
      '2 events of advert 123 skipped',
      expect.stringContaining('expected JSON'),
    ]);
  });
});

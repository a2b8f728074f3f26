import { globSync, readFileSync } from 'node:fs';
import { App } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { Code, Function as LambdaFunction, Runtime } from 'aws-cdk-lib/aws-lambda';
import { expect, it } from 'vitest';
import { parseBody } from '../../kits/typescript/index.ts';
import { anAdvertStatusChanged, anAdvertUnavailable } from '../../kits/typescript/testing/index.ts';
import { faultSchema } from '../../sandbox/state/faults.ts';
import { envelopes } from '../../shared/contract/events.ts';
import { metrics } from '../../shared/contract/names.ts';
import { dereferenced } from '../../tools/contract/schemas.ts';
import { matches } from '../helpers/event-pattern.ts';
import { SearchStack } from './subscribe.ts';

const pages = ['README.md', 'kits/typescript/README.md', ...globSync('docs/**/*.md')];
const read = (page: string) => readFileSync(page, 'utf8');
const shownIn = (page: string) =>
  [...read(page).matchAll(/(?:<!-- snippet: (\S+) -->\n)?```ts\n([\s\S]*?)```/g)].map(([, file, text]) => ({
    file,
    text,
  }));

it.each(pages)('the snippets of %s are compiled TypeScript, as compiled', (page) => {
  for (const { file, text } of shownIn(page)) {
    expect(file, `no <!-- snippet: FILE --> before:\n${text}`).toMatch(
      /^(test\/docs|docs\/examples\/[\w-]+(\/test)?)\/[\w.-]+\.ts$/,
    );
    expect(text).toBe(read(file as string));
  }
});

it('every compiled snippet appears in a page', () => {
  const shown = pages.flatMap(shownIn).map(({ file }) => file);
  const own = ['checklists', 'embedded', 'install', 'paths', 'service', 'snippets'].map(
    (name) => `test/docs/${name}.test.ts`,
  );

  expect(globSync('test/docs/*.ts').filter((file) => ![...own, ...shown].includes(file))).toEqual([]);
});

it('the README snippets make rule, queue and event source of a function', () => {
  const stack = new SearchStack(new App(), 'Search');
  const code = { runtime: Runtime.NODEJS_24_X, handler: 'handle.handler', code: Code.fromInline(' ') };
  new LambdaFunction(stack, 'Handler', code).addEventSource(stack.events);
  const template = Template.fromStack(stack);

  const detailTypes = ['AdvertStatusChanged', 'AdvertUnavailable'];
  template.hasResourceProperties('AWS::Events::Rule', {
    EventBusName: 'adverts',
    EventPattern: { source: ['advert-bridge'], 'detail-type': detailTypes },
  });
  template.resourceCountIs('AWS::SQS::QueuePolicy', 2);
  template.hasResourceProperties('AWS::Lambda::EventSourceMapping', {
    FunctionResponseTypes: ['ReportBatchItemFailures'],
  });
});

const [, pattern = ''] =
  /<!-- pattern -->\n```json\n([\s\S]*?)```/.exec(read('docs/subscribe/guide.md')) ?? [];

it.each([
  ['becomes active', true, anAdvertStatusChanged({ status: 'active', previousStatus: 'new' })],
  ['was active', true, anAdvertStatusChanged({ status: 'sold', previousStatus: 'active' })],
  ['was active and is gone', true, anAdvertUnavailable({ previousStatus: 'active' })],
  ['was never active', false, anAdvertStatusChanged({ status: 'sold', previousStatus: 'new' })],
  ['has another account', false, anAdvertStatusChanged({ status: 'active', partnerAccount: 'second' })],
])('the pattern of guide.md, for an advert that %s, matches: %s', (_what, isWanted, event) => {
  expect(matches(JSON.parse(pattern), event)).toBe(isWanted);
});

const events = read('docs/subscribe/events.md');

it('docs/subscribe/events.md describes each event', () => {
  const headings = [...events.matchAll(/^## (\S+)$/gm)].map(([, heading]) => heading);
  expect(headings).toEqual(expect.arrayContaining(Object.keys(envelopes)));
});

it.each(['README.md', 'docs/subscribe/events.md'])(
  'docs/subscribe/events.md and %s have a valid example',
  (page) => {
    const [, example = ''] = /<!-- event -->\n```json\n([\s\S]*?)```/.exec(read(page)) ?? [];

    expect(parseBody(example)['detail-type']).toBe('AdvertStatusChanged');
  },
);

it.each(['AdvertStatusChanged', 'PartnerAuthorizationRequired'])(
  'docs/subscribe/events.md explains each field of %s',
  (type) => {
    const fields = leavesOf(dereferenced(JSON.parse(read(`docs/schemas/${type}.schema.json`))));

    expect(fields.length).toBeGreaterThan(8);
    for (const [field, description] of fields) expect(events).toContain(`| \`${field}\` | ${description} |`);
  },
);

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

it('sandbox/README.md has every field of a fault, and their words', () => {
  const [, table = ''] = /\n## Faults\n([\s\S]*?)\n## /.exec(read('sandbox/README.md')) ?? [];
  const shown = [...table.matchAll(/`([\w-]+)`/g)].map(([, word]) => word);
  const [{ entries }] = faultSchema.pipe;

  const words = [...Object.keys(entries), ...entries.kind.options, ...entries.endpoint.wrapped.options];
  expect(shown).toEqual(expect.arrayContaining(words));
});

it('docs/operate/capacity.md says of every metric what it counts', () => {
  const listed = [...read('docs/operate/capacity.md').matchAll(/^\| (`[A-Z].*?`) \|/gm)];
  const names = listed.flatMap(([, cell = '']) => [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name));

  expect(names.sort()).toEqual(Object.values(metrics).sort());
});

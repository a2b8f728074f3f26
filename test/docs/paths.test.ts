/** What pages, comments and messages point at is there: links with their anchors, paths, names of files and functions, sections, commands. */
import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';

const built = ['node_modules', 'dist', 'cdk.out', 'coverage'];
const tracked = [
  '.ci/run',
  ...globSync('**/*', {
    exclude: (name) => built.includes(path.basename(name)) || name.startsWith('.'),
  }),
].filter((file) => statSync(file).isFile() && !file.startsWith('release/'));
const ownFile = 'test/docs/paths.test.ts';
const generated = /^(package-lock\.json|docs\/schemas\/|docs\/asyncapi\.json)/;
const texts = tracked.filter(
  (file) => /\.(ts|cjs|md|json|yaml)$|^\.ci\/run$/.test(file) && !generated.test(file) && file !== ownFile,
);
const pages = texts.filter((file) => file.endsWith('.md'));
const folders = [...new Set(tracked.filter((file) => file.includes('/')).map((file) => file.split('/')[0]))];
const scripts = globSync(['package.json', 'docs/examples/*/package.json']).flatMap((file) =>
  Object.keys(JSON.parse(readFileSync(file, 'utf8')).scripts),
);
const partnerApi = 'docs/partner-api.md';
const commands = [
  ...readFileSync('operators/cli/cli.ts', 'utf8').matchAll(/^ {4}'?([a-z-]+)'?: async/gm),
].map(([, name]) => name);
const isPage = (file: string) => file.endsWith('.md');

/** The anchors that GitHub makes of a page's headings. */
function anchorsOf(page: string): string[] {
  const seen = new Map<string, number>();
  return [
    ...readFileSync(page, 'utf8')
      .replaceAll(/```[\s\S]*?```/g, '')
      .matchAll(/^#+ (.+)$/gm),
  ].map(([, heading = '']) => {
    const slug = heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\- _]/gu, '')
      .replaceAll(' ', '-');
    const before = seen.get(slug) ?? 0;
    seen.set(slug, before + 1);
    return before === 0 ? slug : `${slug}-${before}`;
  });
}

/** @returns what is wrong with a place such as `docs/operate/runbook.md#deadletters`; undefined when it is there */
function faultOf(file: string, anchor: string | undefined): string | undefined {
  if (globSync(file).length === 0) return `${file} is not there`;
  if (anchor === undefined || !isPage(file)) return undefined;
  return anchorsOf(file).includes(anchor) ? undefined : `${file} has no heading #${anchor}`;
}

/** Links of a page, resolved from where it stands. */
function deadLinks(page: string, text: string): (string | undefined)[] {
  const links = [...text.matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)/g)];
  return links.map(([, target = '', anchor]) =>
    faultOf(target === '' ? page : path.join(path.dirname(page), target), anchor),
  );
}

/** Paths from the repository's root. `<name>`, `NAME`, `…` and `{a,b}` stand for something that a reader fills in. */
function deadPaths(text: string): (string | undefined)[] {
  const named = new RegExp(
    `(?<![\\w./@:<>$}-])((?:${folders.join('|')})/[\\w./*-]+)(?:#([a-z][\\w-]*))?(?![\\w]*[<{…$(])`,
    'g',
  );
  return [...text.matchAll(named)].map(([, file = '', anchor]) =>
    file.includes('NAME') ? undefined : faultOf(file.replace(/[./*-]+$/, ''), anchor),
  );
}

/** Pages and sources that are named without their folder, as in "see token-vault.ts" or "partner-api.md §4.1". */
function deadNames(file: string, text: string): (string | undefined)[] {
  const words = isPage(file) ? text : (text.match(/\/\*[\s\S]*?\*\/|\/\/.*/g) ?? []).join('\n');
  return [...words.matchAll(/(?<![\w./<*-])([\w-]+\.(?:ts|md))\b/g)].map(([, name = '']) =>
    tracked.some((known) => path.basename(known) === name) ? undefined : `no file has the name ${name}`,
  );
}

/** Sections of a document that the text has named before: docs/partner-api.md, or an RFC. */
function deadSections(file: string, text: string): (string | undefined)[] {
  const ours = [...readFileSync(partnerApi, 'utf8').matchAll(/^#+ ([\d.]+\d|\d)\.? /gm)].map(
    ([, section]) => section,
  );
  return [...text.matchAll(/§(\d+(?:\.\d+)*)/g)].map(({ 1: section = '', index }) => {
    const before = text.slice(0, index);
    if (/RFC \d+[^.;]*$/.test(before.slice(-120))) return undefined;
    const isNamed = file === partnerApi || before.includes('partner-api.md');
    if (!isNamed || /design[^.;]*$/i.test(before.slice(-40))) return `§${section} of which document?`;
    return ours.includes(section) ? undefined : `${partnerApi} has no §${section}`;
  });
}

const deadScripts = (text: string): (string | undefined)[] =>
  [...text.matchAll(/\bnpm run (?:--silent )?([a-z][\w:-]*)/g)].map(([, name = '']) =>
    scripts.includes(name) ? undefined : `there is no npm run ${name}`,
  );

/** Commands of the command line; each has a file of its name. */
const deadCommands = (text: string): (string | undefined)[] =>
  [
    ...text.matchAll(/(?:(?:^|`)(?:npx )?advert-bridge|npm run (?:--silent )?bridge --) +([a-z][a-z-]*)\b/gm),
  ].map(([, name = '']) => (commands.includes(name) ? undefined : `advert-bridge has no command ${name}`));

/** AWS's and CDK's, which no source of ours uses. */
const foreignWords = ['StartMessageMoveTask', 'fromFunctionArn'];
const sourceWords = new Set(
  texts
    .filter((file) => /\.(ts|cjs)$/.test(file))
    .flatMap((file) => readFileSync(file, 'utf8').match(/\w+/g) ?? []),
);

/** Names in a page's code spans that look like a function's, a field's or a type's: `markOwed`, `PutEvents`. */
function deadWords(text: string): (string | undefined)[] {
  const spans = [...text.replaceAll(/```[\s\S]*?```/g, '').matchAll(/`([^`\n]+)`/g)].map(
    ([, span = '']) => span,
  );
  const words = spans.flatMap((span) => span.match(/(?<![\w:-])(?:[a-z]+|[A-Z][a-z]+)[A-Z]\w*/g) ?? []);
  return words.map((word) =>
    sourceWords.has(word) || foreignWords.includes(word) ? undefined : `no source has the name ${word}`,
  );
}

/** Names said to stand in a file, as in "`maxConflicts` in settle-advert.ts". */
function misplacedNames(text: string): (string | undefined)[] {
  return [...text.matchAll(/`(\w+)` in ([\w./-]+\.ts)/g)].map(([, name = '', file = '']) => {
    const homes = tracked.filter((known) => `/${known}`.endsWith(`/${file}`));
    return homes.some((home) => readFileSync(home, 'utf8').includes(name))
      ? undefined
      : `${file} has no ${name}`;
  });
}

it('what every page, comment and message points at exists', () => {
  const faults = texts.flatMap((file) => {
    const text = readFileSync(file, 'utf8');
    return [
      ...(isPage(file) ? [...deadLinks(file, text), ...deadWords(text), ...misplacedNames(text)] : []),
      ...deadPaths(text),
      ...deadNames(file, text),
      ...deadSections(file, text),
      ...deadScripts(text),
      ...deadCommands(text),
    ].flatMap((fault) => (fault === undefined ? [] : [`${file}: ${fault}`]));
  });

  expect([...new Set(faults)]).toEqual([]);
});

// Those of the tests and of packages beside this one, which the package leaves out, are found in their folders; what API Extractor writes is no page.
it('every page can be found from the README', () => {
  const found = new Set<string>();
  const follow = (page: string) => {
    if (found.has(page) || !isPage(page) || !existsSync(page)) return;
    found.add(page);
    for (const [, target = ''] of readFileSync(page, 'utf8').matchAll(/\]\((?!https?:)([^)#\s]+)/g)) {
      follow(path.join(path.dirname(page), target));
    }
  };
  follow('README.md');

  const own = pages.filter((page) => !/^(docs\/examples|kits|tools|test)\//.test(page));
  expect(own.filter((page) => !found.has(page))).toEqual([]);
});

it.each([
  [deadLinks('README.md', '[x](docs/no-such.md)'), 'docs/no-such.md is not there'],
  [
    deadLinks('README.md', '[x](docs/partner-api.md#9-version)'),
    'docs/partner-api.md has no heading #9-version',
  ],
  [deadPaths('// see shared/domain/no-such.ts.'), 'shared/domain/no-such.ts is not there'],
  [deadPaths("'docs/operate/runbook.md#no'"), 'docs/operate/runbook.md has no heading #no'],
  [deadNames('x.ts', '/** @see no-such-page.md */'), 'no file has the name no-such-page.md'],
  [deadWords('`noSuchFunctionAnywhere`'), 'no source has the name noSuchFunctionAnywhere'],
  [misplacedNames('`maxConflicts` in redelivery.ts'), 'redelivery.ts has no maxConflicts'],
  [deadSections('x.ts', '// by §3'), '§3 of which document?'],
  [deadSections('x.ts', '// partner-api.md §12.7'), 'docs/partner-api.md has no §12.7'],
  [deadCommands('`advert-bridge nothing`'), 'advert-bridge has no command nothing'],
  [deadScripts('npm run nothing'), 'there is no npm run nothing'],
])('a reference that leads nowhere is found: %s', (faults, expected) => {
  expect(faults).toEqual([expected]);
});

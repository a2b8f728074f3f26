import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { circles, folderArrows, folderAt, readImportGraph } from '../tools/checks/import-graph.ts';

interface Rule {
  /** Folders that may be imported from, besides the folder itself. */
  readonly inside: readonly string[];
  /** Packages, `node:` among them. */
  readonly packages: RegExp;
}

const below = ['shared/contract', 'shared/domain', 'shared/ports'];
const state = [...below, 'shared/state'];

/** Where each folder of the product may import from: a folder imports only what stands below it. */
const rules: Readonly<Record<string, Rule>> = {
  'shared/contract': { inside: [], packages: /^valibot$/ },
  'shared/domain': { inside: ['shared/contract'], packages: /^valibot$/ },
  'shared/findings': { inside: ['shared/contract', 'shared/domain'], packages: /^$/ },
  'shared/ports': { inside: ['shared/contract', 'shared/domain'], packages: /^$/ },
  'shared/state': { inside: below, packages: /^node:crypto$|^valibot$/ },
  'shared/partner-api': { inside: state, packages: /^node:|^valibot$/ },
  'shared/aws': { inside: state, packages: /^node:|^@aws-sdk\/|^@smithy\/|^aws-lambda$|^valibot$/ },
  'functions/runtime': {
    inside: [...state, 'shared/partner-api', 'shared/aws'],
    packages: /^node:|^valibot$|^@middy\/core$|^@aws-lambda-powertools\/|^aws-lambda$/,
  },
  // `node:crypto` for hashes, which are the same each time: random bytes are passed in.
  functions: { inside: [...state, 'shared/partner-api'], packages: /^node:crypto$|^valibot$/ },
  'embedded/state': { inside: state, packages: /^node:/ },
  embedded: {
    inside: [...state, 'shared/partner-api', 'functions'],
    packages: /^node:|^undici$/,
  },
  'operators/operations': {
    inside: [...state, 'shared/findings', 'shared/partner-api', 'embedded/state', 'shared/aws', 'functions'],
    packages: /^node:|^@aws-sdk\//,
  },
  'operators/cli': {
    inside: ['shared', 'functions', 'embedded', 'operators', 'sandbox', 'package.json'],
    packages: /./,
  },
  'operators/console': {
    inside: ['shared/contract', 'shared/domain', 'shared/findings', 'operators/operations'],
    packages: /^node:|^valibot$|^esbuild$|^htm\/preact$|^preact(\/hooks)?$|^uplot/,
  },
  'kits/typescript': { inside: ['shared/contract'], packages: /^node:crypto$|^valibot$/ },
  infra: {
    inside: ['shared/contract', 'shared/findings', 'package.json'],
    packages: /^node:|^aws-cdk-lib|^constructs$|^cdk-nag$|^valibot$/,
  },
  sandbox: { inside: [], packages: /^node:|^valibot$/ },
};

/** A handler puts its use case together with the adapters, so it may import all of shared; nothing imports a handler. */
const isHandler = (file: string) => /^functions\/.+\/handler\.ts$/.test(file);

const graph = readImportGraph();
const isIn = (folder: string, file: string) => file === folder || file.startsWith(`${folder}/`);
/** The innermost folder with a rule. */
const ruleFor = (file: string) =>
  Object.keys(rules)
    .filter((folder) => isIn(folder, file))
    .sort((a, b) => b.length - a.length)[0];
const isOwn = (target: string) => graph.has(target) || target.endsWith('.json');

for (const [folder, { inside, packages }] of Object.entries(rules)) {
  it(`imports of ${folder} come from below it`, () => {
    const files = [...graph].filter(([file]) => ruleFor(file) === folder && !isHandler(file));

    const strays = files.flatMap(([file, targets]) =>
      targets
        .filter((target) =>
          isOwn(target) ? ![folder, ...inside].some((part) => isIn(part, target)) : !packages.test(target),
        )
        .map((target) => `${file} imports ${target}`),
    );

    expect(files.length).toBeGreaterThan(0);
    expect(strays).toEqual([]);
  });
}

it('imports form no circle of files', () => {
  expect(circles(graph.keys(), (file) => graph.get(file)?.filter((each) => graph.has(each)) ?? [])).toEqual(
    [],
  );
});

it.each([1, 2, 3, 4])('imports form no circle of folders, seen %i deep', (depth) => {
  // Tests import tools, which they test, and the bench among the tools imports helpers of the tests.
  const seen = [...graph].filter(([file]) => depth > 1 || !isIn('test', file));
  const arrows = folderArrows(new Map(seen), folderAt(depth));

  expect(circles(arrows.keys(), (folder) => arrows.get(folder)?.keys() ?? [])).toEqual([]);
});

it('only tests and bundles import a handler', () => {
  const importers = [...graph].filter(
    ([file, targets]) => targets.some(isHandler) && !/^(test|tools)\//.test(file),
  );

  expect(importers).toEqual([]);
});

it('no folder holds more than 20 files directly', () => {
  const counts = Map.groupBy(graph.keys(), (file) => path.dirname(file));

  const crowded = [...counts].flatMap(([folder, { length }]) =>
    length > 20 ? [`${folder}: ${length}`] : [],
  );

  expect(crowded).toEqual([]);
});

/** A text before a function, as the title of a test is. */
const titled = /[(]\s*(['`])((?:(?!\1)[^\\\n]|\\.)+)\1,\s*(?:async )?\([^()]*\) =>/g;

// docs/contribute/tests.md#how-a-test-is-written
it('titles of tests name their subject in at most 70 characters', () => {
  const titles = globSync(['test/**/*.test.ts', 'test/**/*.suite.ts']).flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(titled)].map(([, , title = '']) => `${file}: ${title}`),
  );

  expect(titles.length).toBeGreaterThan(1_000);
  expect(titles.filter((title) => /: (is|are|has) |: .{71,}$/.test(title))).toEqual([]);
});

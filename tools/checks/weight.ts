/**
 * `npm run weight`: lines and files of each part of the repository beside its budget, the files that the two main
 * handlers reach, and the words of all pages. The product is counted without the console. Blank lines and comments
 * count; JSON, API reports and `*.generated` files do not. Prints a table and always exits with 0.
 *
 * @see docs/contribute/architecture.md#the-tree
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { reachedFrom, readImportGraph } from './import-graph.ts';

interface Part {
  readonly name: string;
  readonly folders: readonly string[];
  /** Undefined: the part has no budget of its own. */
  readonly maxLines: number | undefined;
}

const product: readonly Part[] = [
  {
    name: 'shared/contract, domain, findings…',
    folders: ['contract', 'domain', 'findings', 'state', 'ports'].map((name) => `shared/${name}`),
    maxLines: 3900,
  },
  { name: 'shared/partner-api', folders: ['shared/partner-api'], maxLines: 1900 },
  { name: 'shared/aws', folders: ['shared/aws'], maxLines: 1500 },
  { name: 'functions', folders: ['functions'], maxLines: 3500 },
  { name: 'embedded', folders: ['embedded'], maxLines: 2300 },
  {
    name: 'operators/operations, cli',
    folders: ['operators/operations', 'operators/cli'],
    maxLines: 6500,
  },
  { name: 'infra', folders: ['infra'], maxLines: 3000 },
  { name: 'kits', folders: ['kits'], maxLines: 1900 },
  { name: 'sandbox', folders: ['sandbox'], maxLines: 1500 },
];
const consolePart: Part = { name: 'console', folders: ['operators/console'], maxLines: 2300 };
const rest: readonly Part[] = [
  { name: 'tests, helpers included', folders: ['test'], maxLines: 37_000 },
  { name: 'tools', folders: ['tools'], maxLines: 3500 },
];
const maxProductLines = 24_500;
const maxReached = { files: 75, lines: 5500 };
const maxWords = 32_000;

const tracked = execFileSync('git', ['ls-files'], { encoding: 'utf8' }).trim().split('\n');
const code = tracked.filter((file) => /(?<!\.generated)\.(ts|tsx|js|mjs|cjs|py|css|html)$/.test(file));
const pages = tracked.filter((file) => file.endsWith('.md') && !file.startsWith('tools/api/'));

const linesIn = (files: readonly string[]): number =>
  files.reduce((sum, file) => sum + (readFileSync(file, 'utf8').match(/\n/g)?.length ?? 0), 0);
const filesOf = ({ folders }: Part): string[] =>
  code.filter((file) => folders.some((folder) => file.startsWith(`${folder}/`)));

const row = (name: string, files: number, count: number, budget: number | undefined): string => {
  const limit = budget === undefined ? '' : budget.toLocaleString('en');
  const over = budget !== undefined && count > budget ? `+${(count - budget).toLocaleString('en')}` : '';
  const numbers = [files.toLocaleString('en'), count.toLocaleString('en'), limit, over];
  return [name.padEnd(40), ...numbers.map((text) => text.padStart(8))].join('').trimEnd();
};
const partRow = (part: Part): string => {
  const files = filesOf(part);
  return row(part.name, files.length, linesIn(files), part.maxLines);
};

const productFiles = product.flatMap(filesOf);
const reached = reachedFrom(readImportGraph(), [
  'functions/drain/handler.ts',
  'functions/fan-out/handler.ts',
]);

console.log(`${''.padEnd(40)}   files   lines at most    over`);
for (const part of product) console.log(partRow(part));
console.log(row('product', productFiles.length, linesIn(productFiles), maxProductLines));
console.log('');
for (const part of [consolePart, ...rest]) console.log(partRow(part));
console.log('');
// Type-only imports count: whoever reads the handlers reads these files too.
console.log(row('the two main handlers reach: files', reached.length, reached.length, maxReached.files));
console.log(row('the two main handlers reach: lines', reached.length, linesIn(reached), maxReached.lines));
const words = pages.reduce(
  (sum, page) => sum + readFileSync(page, 'utf8').split(/\s+/).filter(Boolean).length,
  0,
);
console.log(row('documentation: words', pages.length, words, maxWords));

/**
 * `npm run weight`: lines and files of each part of the repository beside its budget, the files that the two main
 * handlers reach, and the words of the documentation. Blank lines and comments count; JSON, API reports and other
 * generated files do not. Prints a table and always exits with 0.
 *
 * @see docs/contribute/architecture.md
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

/** Not every one exists yet. */
const inShared = (...folders: readonly string[]) => folders.map((folder) => `shared/${folder}`);

const product: readonly Part[] = [
  {
    name: 'shared/contract, domain, state, ports',
    folders: inShared('contract', 'domain', 'state', 'ports'),
    maxLines: 3400,
  },
  {
    name: 'shared/partner-api',
    folders: inShared('partner-api', 'http', 'rate-limit', 'tokens', 'errors'),
    maxLines: 1700,
  },
  {
    name: 'shared/aws, sqlite, runtime',
    folders: inShared('aws', 'sqlite', 'runtime'),
    maxLines: 2300,
  },
  { name: 'functions', folders: ['functions'], maxLines: 3000 },
  { name: 'embedded', folders: ['embedded'], maxLines: 900 },
  { name: 'operations, cli', folders: ['operations', 'cli'], maxLines: 5200 },
  { name: 'infra', folders: ['infra'], maxLines: 2600 },
  { name: 'subscriber, kits/python', folders: ['subscriber', 'kits/python'], maxLines: 1900 },
  { name: 'sandbox', folders: ['sandbox'], maxLines: 1500 },
];
const consolePart: Part = { name: 'console', folders: ['console'], maxLines: 2500 };
const rest: readonly Part[] = [
  { name: 'tests, helpers included', folders: ['test'], maxLines: 36_000 },
  { name: 'bench, scripts', folders: ['bench', 'scripts'], maxLines: 3500 },
];
const maxProductLines = 22_500;
const maxReached = { files: 75, lines: 5500 };
const maxWords = 30_000;

const tracked = execFileSync('git', ['ls-files'], { encoding: 'utf8' }).trim().split('\n');
const code = tracked.filter((file) => /(?<!\.generated)\.(ts|tsx|js|mjs|cjs|py|css|html)$/.test(file));
const pages = tracked.filter((file) => file.endsWith('.md') && !file.startsWith('etc/'));

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

/** Results of the last runs, one JSON file a bench: what docs/contribute/performance.md is made from. */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { Report } from './report.ts';

const folder = fileURLToPath(new URL('../results/', import.meta.url));

export interface Result extends Report {
  readonly bench: string;
  readonly does: string;
  readonly date: string;
  readonly machine: string;
  readonly isShort: boolean;
}

/** The machine, as far as a reader needs it to judge a figure. */
export function machine(): string {
  const gigabytes = Math.round(totalmem() / 2 ** 30);
  return `${cpus().length} × ${cpus()[0]?.model.trim() ?? 'unknown CPU'}, ${gigabytes} GB, ${process.platform} ${process.arch}, Node ${process.version}`;
}

export function store(result: Result): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${folder}${result.bench}.json`, `${JSON.stringify(result, undefined, 2)}\n`);
}

/** The kept results of all benches. */
export function stored(): Result[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .sort()
    .map((name) => JSON.parse(readFileSync(folder + name, 'utf8')) as Result);
}

/** Results of the last runs, one JSON file per bench, from which docs/contribute/performance.md is generated. */
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

/** A description of the machine, so that a reader can judge the figures. */
export function machine(): string {
  const gigabytes = Math.round(totalmem() / 2 ** 30);
  return `${cpus().length} × ${cpus()[0]?.model.trim() ?? 'unknown CPU'}, ${gigabytes} GB, ${process.platform} ${process.arch}, Node ${process.version}`;
}

export function store(result: Result): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${folder}${result.bench}.json`, `${JSON.stringify(result, undefined, 2)}\n`);
}

/** The stored results of all benches. */
export function stored(): Result[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .sort()
    .map((name) => JSON.parse(readFileSync(folder + name, 'utf8')) as Result);
}

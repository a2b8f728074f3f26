import { writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Mutant } from './instrument.ts';
import { intervalOf } from './sample.ts';

export type Fate = 'killed' | 'survived' | 'not covered';

export interface Findings {
  readonly mutants: readonly Mutant[];
  /** How many there are; more than `mutants` where those are a sample. */
  readonly of: number;
  readonly ignored: number;
  readonly fateOf: (mutant: Mutant) => Fate;
  /** Takes all of it as JSON. */
  readonly file?: string | undefined;
}

/** Prints who survived, and the score of each folder. */
export function report({ mutants, of, ignored, fateOf, file }: Findings): void {
  const found = mutants.map((mutant) => ({ ...mutant, fate: fateOf(mutant) }));
  if (file) writeFileSync(file, JSON.stringify(found, null, 1));
  for (const { file, line, mutator, original, replacement, fate } of found) {
    if (fate === 'killed') continue;
    print(`${file}:${line} ${fate} (${mutator})\n  - ${short(original)}\n  + ${short(replacement)}`);
  }
  const folders = Map.groupBy(found, ({ file }) => path.dirname(file));
  for (const [folder, own] of folders) print(`${folder.padEnd(26)}${scoreOf(own)}`);
  const killed = found.filter(({ fate }) => fate === 'killed').length;
  print(
    `${'all'.padEnd(26)}${scoreOf(found)}; ${ignored} left out that change only the words of logs and errors`,
  );
  if (found.length < of) {
    const [from, to] = intervalOf(killed, found.length, of).map(percent);
    print(`a sample of ${of}: with 95 % confidence between ${from} and ${to}`);
  }
}

function scoreOf(found: readonly { readonly fate: Fate }[]): string {
  const count = (which: Fate) => found.filter(({ fate }) => fate === which).length;
  const share = percent(count('killed') / found.length);
  return `${share} killed: ${count('killed')} of ${found.length}, ${count('survived')} survived, ${count('not covered')} not covered`;
}

const percent = (share: number) => `${(100 * share).toFixed(1)} %`;

const short = (code: string) => code.replace(/\s+/g, ' ').slice(0, 160);

const print = (line: string) => process.stdout.write(`${line}\n`);

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import path from 'node:path';
import { expect, it } from 'vitest';
import { plantedFaults } from './simulation/planted/planted.ts';

const root = path.join(import.meta.dirname, '..');
const textOf = (file: string) => readFileSync(path.join(root, file), 'utf8');
/** Maximum number of lines between a comment and the code that it marks. */
const reach = 10;

const places = plantedFaults.flatMap((fault) =>
  fault.places.map(({ name, file, from }) => ({ name, file, from: from.trim() })),
);

/** The names in `Rule: a`, `Planted fault: a` and `Planted faults: a, b`, which may go on in the next line of the comment. */
const namedIn = (text: string): string[] =>
  [
    ...text.matchAll(/\/\/ (?:Rule|Planted faults?): ([a-z0-9, \n/-]+?)(?=\n(?!\s*\/\/ [a-z0-9]+-))/g),
  ].flatMap(([, names = '']) => names.split(/[,\s/]+/).filter((name) => name !== ''));

it.each(plantedFaults)('a planted fault fits the source as it is: $name', ({ sources }) => {
  for (const [, source] of sources()) expect(stripTypeScriptTypes(source)).not.toBe('');
});

it.each(places.map(({ name, file, from }) => [name, file, from]))(
  'a comment above the line names the planted fault: %s in %s',
  (name, file, from) => {
    const before = textOf(file).split(from)[0] ?? '';
    const above = before.split('\n').slice(-reach).join('\n');

    expect(namedIn(`${above}\n`)).toContain(name);
  },
);

it('a planted fault exists for every comment that names one', () => {
  const files = execFileSync('git', ['grep', '-lE', '// Planted faults?:', '--', '*.ts'], {
    cwd: root,
    encoding: 'utf8',
  });
  const stray = files
    .trim()
    .split('\n')
    .filter((file) => !file.startsWith('test/simulation/planted/'))
    .flatMap((file) =>
      namedIn(textOf(file).replaceAll('// Rule:', '//'))
        .filter((name) => !places.some((place) => place.file === file && place.name === name))
        .map((name) => `${file}: ${name}`),
    );

  expect(stray).toEqual([]);
});

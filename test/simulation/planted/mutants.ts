/**
 * Use cases with a planted fault: a copy of one folder's sources, changed in one place and imported from a temporary
 * folder.
 */
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const root = path.join(import.meta.dirname, '../../..');
const folders: string[] = [];
process.on('exit', () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

export interface Replacement {
  /** Path within the folder. */
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/** @throws unless `source` contains `from` exactly once: if the source has changed, adapt the planted fault */
export function replaceOnce(source: string, { file, from, to }: Replacement): string {
  const parts = source.split(from);
  if (parts.length === 2) return parts.join(to);
  throw new Error(`${file}: expected once, found ${parts.length - 1} times: ${from}`);
}

/** The path, within the folder, of the module that `file` imports as `imported`. */
const beside = (file: string, imported: string) => path.join(path.dirname(file), imported);

/** The files to copy: those that change, and those that import one of them, directly or indirectly. */
function filesTouched(sources: ReadonlyMap<string, string>, changed: readonly string[]): Set<string> {
  const touched = new Set(changed);
  for (let before = -1; before < touched.size; ) {
    before = touched.size;
    for (const [file, source] of sources) {
      const imported = [...source.matchAll(/from '(\.\.?\/[^']+)'/g)].map(([, name = '']) =>
        beside(file, name),
      );
      if (imported.some((name) => touched.has(name))) touched.add(file);
    }
  }
  return touched;
}

/**
 * Imports the module `entry` of `folder` (such as `functions/drain`) with `replacements` applied in that folder.
 * Modules that do not depend on the replacements are imported from the original folder, so that error classes stay
 * the same.
 */
export async function mutant<T>(
  folder: string,
  entry: string,
  replacements: readonly Replacement[],
): Promise<T> {
  const copy = mkdtempSync(path.join(tmpdir(), 'planted-'));
  folders.push(copy);
  symlinkSync(path.join(root, 'node_modules'), path.join(copy, 'node_modules'));
  const from = path.join(root, folder);
  const names = readdirSync(from, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.ts'),
  );
  const sources = new Map(names.map((file) => [file, readFileSync(path.join(from, file), 'utf8')]));
  const touched = filesTouched(sources, [entry, ...replacements.map(({ file }) => file)]);
  for (const file of touched) {
    const original = sources.get(file) ?? '';
    const changed = replacements
      .filter((replacement) => replacement.file === file)
      .reduce((source, replacement) => replaceOnce(source, replacement), original);
    const absolute = changed.replaceAll(/from '(\.\.?\/[^']+)'/g, (whole, target: string) =>
      touched.has(beside(file, target))
        ? whole
        : `from '${pathToFileURL(path.join(from, beside(file, target))).href}'`,
    );
    mkdirSync(path.dirname(path.join(copy, file)), { recursive: true });
    writeFileSync(path.join(copy, file), absolute);
  }
  return (await import(pathToFileURL(path.join(copy, entry)).href)) as T;
}

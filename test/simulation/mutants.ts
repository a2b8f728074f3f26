/** Use cases with a fault in them: a copy of one folder's sources, changed in one place, imported from a temporary folder. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const root = path.join(import.meta.dirname, '../..');
const folders: string[] = [];
process.on('exit', () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

export interface Replacement {
  /** Within the folder. */
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/** @throws when `from` does not stand in `source` exactly once: the source has changed, so has the fault to */
export function replaceOnce(source: string, { file, from, to }: Replacement): string {
  const parts = source.split(from);
  if (parts.length === 2) return parts.join(to);
  throw new Error(`${file}: expected once, found ${parts.length - 1} times: ${from}`);
}

/**
 * The module `entry` of `folder` (such as `functions/drain`), with `replacements` made in that folder. What lies outside
 * of it is imported from where it is, so that errors keep their classes.
 */
export async function mutant<T>(
  folder: string,
  entry: string,
  replacements: readonly Replacement[],
): Promise<T> {
  const copy = mkdtempSync(path.join(tmpdir(), 'planted-'));
  folders.push(copy);
  const from = path.join(root, folder);
  for (const file of readdirSync(from)) {
    if (!file.endsWith('.ts')) continue;
    const original = readFileSync(path.join(from, file), 'utf8');
    const changed = replacements
      .filter((replacement) => replacement.file === file)
      .reduce((source, replacement) => replaceOnce(source, replacement), original);
    const absolute = changed.replaceAll(/from '(\.\.\/[^']+)'/g, (_, target: string) => {
      return `from '${pathToFileURL(path.join(from, target)).href}'`;
    });
    writeFileSync(path.join(copy, file), absolute);
  }
  return (await import(pathToFileURL(path.join(copy, entry)).href)) as T;
}

import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The page's files by path. */
export type Assets = ReadonlyMap<string, { readonly type: string; readonly content: Uint8Array }>;

const folder = join(import.meta.dirname, 'page');
const types: Readonly<Record<string, string>> = {
  '/index.html': 'text/html; charset=utf-8',
  '/app.css': 'text/css; charset=utf-8',
  '/icon.svg': 'image/svg+xml',
  '/app.js': 'text/javascript; charset=utf-8',
};

/** Reads the page. The package contains it bundled; in the repository, it is bundled now, which takes a moment. */
export async function readAssets(): Promise<Assets> {
  const files = existsSync(join(folder, 'app.js'))
    ? Promise.all(Object.keys(types).map(async (path) => [path, await readFile(join(folder, path))] as const))
    : (await import('./bundle-page.ts')).bundlePage().then(({ files: bundled }) => bundled);
  return new Map(
    (await files).map(([path, content]) => [path, { type: types[path] ?? 'text/plain', content }] as const),
  );
}

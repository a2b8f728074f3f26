import { execFileSync } from 'node:child_process';
import { copyFileSync, cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { withoutLinksOut } from './packed-pages.ts';

export const wheelName = (version: string): string => `advert_bridge-${version}-py3-none-any.whl`;

/** Builds the wheel of the Python kit into `folder`. Needs Python 3.10 or later with pip. */
export function writePythonWheel(repository: string, folder: string): void {
  const source = mkdtempSync(join(tmpdir(), 'advert-bridge-wheel-'));
  try {
    const kit = 'kits/python';
    for (const part of ['pyproject.toml', 'src']) {
      cpSync(join(repository, kit, part), join(source, part), { recursive: true });
    }
    copyFileSync(join(repository, 'LICENSE'), join(source, 'LICENSE'));
    // The page is part of the wheel's metadata, and no file of the repository is beside it there.
    const page = readFileSync(join(repository, kit, 'README.md'), 'utf8');
    writeFileSync(join(source, 'README.md'), withoutLinksOut(page, join(kit, 'README.md'), source));
    const wheel = ['wheel', '--quiet', '--no-deps', '--wheel-dir', folder, source];
    execFileSync('python3', ['-m', 'pip', '--disable-pip-version-check', ...wheel], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  } finally {
    rmSync(source, { recursive: true, force: true });
  }
}

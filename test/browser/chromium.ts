import { accessSync, constants } from 'node:fs';
import path from 'node:path';
import { type Browser, chromium } from 'playwright-core';

/** As Debian, Ubuntu, Alpine and Google name it. */
const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

/** @returns the Chromium of `CHROMIUM`, else the first on `PATH`, as a path; undefined when there is none */
export function findChromium(env = process.env): string | undefined {
  const places = env.CHROMIUM
    ? [env.CHROMIUM]
    : (env.PATH ?? '')
        .split(path.delimiter)
        .flatMap((folder) => names.map((name) => path.join(folder, name)));
  return places.find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

export const howToInstall =
  'There is no Chromium to drive. Install one (Debian, Ubuntu: apt-get install chromium), or say where it is with ' +
  'CHROMIUM=/path/to/chromium.';

export function launch(executablePath: string): Promise<Browser> {
  // Its own sandbox needs rights that root in a container does not have; it is shown nothing but our own pages.
  const isRoot = process.getuid?.() === 0;
  return chromium.launch({ executablePath, chromiumSandbox: !isRoot, args: ['--disable-dev-shm-usage'] });
}

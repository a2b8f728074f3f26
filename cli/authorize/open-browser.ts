import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Io } from '../shared/io.ts';

/** The program that opens an address. It is started without a shell, which would interpret the address. */
function openerFor(platform: NodeJS.Platform): readonly [string, ...string[]] {
  if (platform === 'darwin') return ['open'];
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler'];
  return ['xdg-open'];
}

/**
 * Opens `url` in the user's browser.
 *
 * @returns whether a program to open it exists
 */
export async function openBrowser(
  url: string,
  env: Io['env'],
  platform = process.platform,
): Promise<boolean> {
  const [program, ...args] = openerFor(platform);
  const opener = spawn(program, [...args, url], { env: { ...env }, stdio: 'ignore', detached: true });
  opener.unref();
  return once(opener, 'spawn').then(
    () => true,
    () => false,
  );
}

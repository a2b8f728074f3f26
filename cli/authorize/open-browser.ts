import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Io } from '../shared/io.ts';
import { escapeHtml } from './page.ts';

/** The program that opens an address. It is started without a shell, which would interpret the address. */
function openerFor(platform: NodeJS.Platform): readonly [string, ...string[]] {
  if (platform === 'darwin') return ['open'];
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler'];
  return ['xdg-open'];
}

/**
 * Opens `url` in the user's browser, through a page in a folder that only this user may read: every user of the machine
 * can see the arguments of a process, and the address contains the state of the request.
 *
 * @returns whether a program to open it exists, and what removes the page
 */
export async function openBrowser(
  url: string,
  env: Io['env'],
  platform = process.platform,
): Promise<{ readonly isOpened: boolean; remove(): Promise<void> }> {
  const folder = await mkdtemp(path.join(tmpdir(), 'advert-bridge-connect-'));
  const page = path.join(folder, 'connect.html');
  const refresh = `<meta http-equiv="refresh" content="0; url=${escapeHtml(url)}">`;
  await writeFile(page, `<!doctype html><meta name="referrer" content="no-referrer">${refresh}\n`, {
    mode: 0o600,
  });
  const [program, ...args] = openerFor(platform);
  const argv = [...args, pathToFileURL(page).href];
  const opener = spawn(program, argv, { env: { ...env }, stdio: 'ignore', detached: true });
  opener.unref();
  const isOpened = await once(opener, 'spawn').then(
    () => true,
    () => false,
  );
  return { isOpened, remove: () => rm(folder, { recursive: true, force: true }) };
}

import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Io } from '../shared/io.ts';

/** What opens an address. It is started without a shell, which would interpret the address. */
const openers: Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

/**
 * Opens `url` in the user's browser, if there is one, through a page in a folder that only this user may read: every user
 * of the machine can see the arguments of a process, and the address contains the state of the request.
 *
 * @returns what removes the page
 */
export async function openBrowser(url: string, env: Io['env']): Promise<() => Promise<void>> {
  const folder = await mkdtemp(path.join(tmpdir(), 'advert-bridge-connect-'));
  const page = path.join(folder, 'connect.html');
  const refresh = `<meta http-equiv="refresh" content="0; url=${escapeHtml(url)}">`;
  const html = `<!doctype html><meta name="referrer" content="no-referrer">${refresh}\n`;
  await writeFile(page, html, { mode: 0o600 });
  const [program, ...args] = openers[process.platform] ?? ['xdg-open'];
  const argv = [...args, pathToFileURL(page).href];
  const opener = spawn(program, argv, { env: { ...env }, stdio: 'ignore', detached: true });
  // The user sees the address, too, and can open it.
  opener.on('error', () => undefined).unref();
  return () => rm(folder, { recursive: true, force: true });
}

const escapeHtml = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

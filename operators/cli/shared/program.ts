import { readFileSync } from 'node:fs';
import path from 'node:path';

/** How the user starts the command line. Tests and docs use the plain name. */
let program = 'advert-bridge';

export const programName = (): string => program;

/** What starts this program again: the file, and its arguments up to the command. */
export const thisProgram = (): [string, ...string[]] => [
  process.execPath,
  ...process.execArgv,
  process.argv[1] ?? '',
];

/** @param text with `$0` for the form in which the user starts the command line */
export const asCalled = (text: string): string => text.replaceAll('$0', () => program);

export function nameProgramAsStarted(): void {
  program = programOf(process.argv[1] ?? '', process.cwd());
}

/**
 * @param script the script that Node was started with: operators/cli/advert-bridge.cjs in the repository, or npm's link to it
 * @param cwd the user's current folder
 */
export function programOf(script: string, cwd: string): string {
  const [, parent, cached] =
    /^(.*?)(\/_npx\/[^/]+)?\/node_modules\//.exec(script.replaceAll('\\', '/')) ?? [];
  if (parent === undefined)
    return script.endsWith('advert-bridge.cjs') ? 'npm run bridge --' : 'advert-bridge';
  if (cached !== undefined) return npxOf(`${parent}${cached}/package.json`);
  const isInside = !path.relative(parent, cwd).startsWith('..');
  return isInside ? 'npx advert-bridge' : 'advert-bridge';
}

/** The package.json of the folder that npx creates contains what npx was told to install. */
function npxOf(manifest: string): string {
  const { packages } = JSON.parse(readFileSync(manifest, 'utf8'))._npx as { readonly packages: string[] };
  const [only = '', ...others] = packages.map((name) => (/^[\w./:@-]+$/.test(name) ? name : `'${name}'`));
  // npm would run an absolute path as a program.
  if (others.length === 0 && !path.isAbsolute(only)) return `npx ${only}`;
  return `npx ${[only, ...others].map((name) => `--package ${name}`).join(' ')} advert-bridge`;
}

import { readFileSync } from 'node:fs';
import path from 'node:path';

/** How the reader calls the command line. Tests and pages know it by its own name. */
let program = 'advert-bridge';

/** For hints that a person copies: the command line as it was called, such as `npx advert-bridge`. */
export const programName = (): string => program;

/** Examples and commands of a text, written as the reader calls the command line. */
export const asCalled = (text: string): string =>
  text.replaceAll(/(^ {2,}|`|\| )advert-bridge (?=[a-z])/gm, (_, before) => `${before}${program} `);

/** Has hints name the command line as this process was started. */
export function nameProgramAsStarted(): void {
  program = programOf(process.argv[1] ?? '', process.cwd());
}

/**
 * @param script what Node was started with: cli/advert-bridge.cjs of the repository, or npm's link to it
 * @param cwd where the reader is
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

/** What npx was told to install is in the manifest of the folder that it made for that. */
function npxOf(manifest: string): string {
  const { packages } = JSON.parse(readFileSync(manifest, 'utf8'))._npx as { readonly packages: string[] };
  const [only = '', ...others] = packages.map((name) => (/^[\w./:@-]+$/.test(name) ? name : `'${name}'`));
  // npm would run an absolute path as a program.
  if (others.length === 0 && !path.isAbsolute(only)) return `npx ${only}`;
  return `npx ${[only, ...others].map((name) => `--package ${name}`).join(' ')} advert-bridge`;
}

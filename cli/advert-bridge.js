#!/usr/bin/env -S node --max-semi-space-size=16 --heap-growing-percent=100
// The command of the package, which brings the built command line, for Node runs no TypeScript inside node_modules; in
// the repository, which has no build, the command of the source. Plain JavaScript, so that an old Node can say so.
import { existsSync } from 'node:fs';
import module from 'node:module';
import { fileURLToPath } from 'node:url';

const [major, minor] = process.versions.node.split('.').map(Number);
const isLocal = process.argv.some((argument) => /^--local(=|$)/.test(argument));
if (isLocal && (major < 22 || (major === 22 && minor < 13))) {
  const again = 'npx -p node@24 -p advert-bridge advert-bridge …';
  console.error(
    `advert-bridge: --local needs Node 22.13 or later; this is ${process.versions.node}. Run it with a newer one: ${again}`,
  );
  process.exit(2);
}
const source = new URL('main.ts', import.meta.url);
const isSource = existsSync(source);
if (isSource) {
  // To take the types out of every file again takes longer than all that most commands do. Not where Node would put it,
  // for what lies in a folder of everybody's could be anybody's.
  module.enableCompileCache?.(
    fileURLToPath(new URL('../node_modules/.cache/advert-bridge', import.meta.url)),
  );
}
await import(isSource ? source.href : new URL('../dist/cli/main.js', import.meta.url).href);

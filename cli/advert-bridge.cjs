#!/usr/bin/env -S node --max-semi-space-size=16 --max-old-space-size=2000
// The command of the package, which brings the built command line, for Node runs no TypeScript inside node_modules; in
// the repository, which has no build, the command of the source. Plain JavaScript, so that an old Node can say so, and no
// ES module, for what loads those is not needed otherwise.
const { existsSync } = require('node:fs');
const { enableCompileCache } = require('node:module');
const { join } = require('node:path');

const [major, minor] = process.versions.node.split('.').map(Number);
const isLocal = process.argv.some((argument) => /^--local(=|$)/.test(argument));
if (isLocal && (major < 22 || (major === 22 && minor < 13))) {
  const again = 'npx -p node@24 -p advert-bridge advert-bridge …';
  console.error(
    `advert-bridge: --local needs Node 22.13 or later; this is ${process.versions.node}. Run it with a newer one: ${again}`,
  );
  process.exit(2);
}
// To compile all of it again takes longer than most commands do. Not where Node would put it, for what lies in a folder of
// everybody's could be anybody's. Where it cannot be written it is done without.
enableCompileCache?.(join(__dirname, '../node_modules/.cache/advert-bridge'));
if (existsSync(join(__dirname, 'main.ts'))) import('./main.ts');
else require('../dist/cli/main.cjs');

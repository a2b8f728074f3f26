#!/usr/bin/env -S node --max-semi-space-size=16 --max-old-space-size=2000
// Starts the command line: in the package its bundle, for Node runs no TypeScript inside node_modules; in the repository its
// source. Plain JavaScript, so that an old Node can say what it needs. The options keep the heap small, which V8 would let
// grow with the load (docs/decisions/0007-embedded-state.md).
const { existsSync } = require('node:fs');
const { enableCompileCache } = require('node:module');
const { join } = require('node:path');

const [major, minor] = process.versions.node.split('.').map(Number);
const needsSqlite = process.argv[2] === 'demo' || process.argv.some((word) => /^--local(=|$)/.test(word));
if (needsSqlite && (major < 22 || (major === 22 && minor < 13))) {
  console.error(
    `advert-bridge: an embedded bridge needs Node 22.13 or later; this is ${process.versions.node}. Run it with a newer one: npx -p node@24 -p advert-bridge advert-bridge …`,
  );
  process.exit(2);
}
// Compiling the bundle takes longer than most commands do, so its compiled code is kept: in this package's own folder, for
// Node's default folder is one that everybody can write to.
enableCompileCache?.(join(__dirname, '../node_modules/.cache/advert-bridge'));
if (existsSync(join(__dirname, 'main.ts'))) import('./main.ts');
else require('../dist/cli/main.cjs');

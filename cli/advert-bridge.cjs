#!/usr/bin/env -S node --max-semi-space-size=16 --max-old-space-size=2000
// Starts the command line: in the package its bundle, for Node runs no TypeScript inside node_modules; in the repository its
// source. Plain JavaScript, so that an old Node can say what it needs. The options keep the heap small, which V8 would let
// grow with the load (docs/decisions/0007-embedded-state.md).
const { spawn } = require('node:child_process');
const { existsSync } = require('node:fs');
const { enableCompileCache } = require('node:module');
const { join } = require('node:path');

const [major, minor] = process.versions.node.split('.').map(Number);
const words = process.argv.slice(2);
const isDemo = words[0] === 'demo';
const needsSqlite = isDemo || words.some((word) => /^--local(=|$)/.test(word));
if (!needsSqlite || major > 22 || (major === 22 && minor >= 13)) start();
else if (isDemo && !/\bnode@24\b/.test(process.env.npm_config_package)) startWithNode24();
else {
  console.error(
    `advert-bridge: an embedded bridge needs Node 22.13 or later; this is ${process.versions.node}. Install a newer one, or run: npx -p node@24 -- node ${process.argv[1]} …`,
  );
  process.exit(2);
}

function start() {
  // Compiling the bundle takes longer than most commands do, so its compiled code is kept: in this package's own folder, for
  // Node's default folder is one that everybody can write to.
  enableCompileCache?.(join(__dirname, '../node_modules/.cache/advert-bridge'));
  if (existsSync(join(__dirname, 'main.ts'))) import('./main.ts');
  else require('../dist/cli/main.cjs');
}

/** A first look shall not fail for the Node that happens to be there. Whoever runs a bridge chooses the Node for it. */
function startWithNode24() {
  console.error(
    `advert-bridge: a demo needs Node 22.13 or later; this is ${process.versions.node}. npx fetches Node 24 for it …`,
  );
  const node24 = ['--yes', '--package', 'node@24', '--', 'node', ...process.execArgv, __filename, ...words];
  const child = spawn('npx', node24, { stdio: 'inherit' });
  // Ctrl-C reaches the demo by itself, and its end is waited for.
  process.on('SIGINT', () => undefined);
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  child.on('error', ({ message }) => {
    console.error(`advert-bridge: npx cannot be run (${message}). Run the demo with Node 22.13 or later`);
    process.exit(2);
  });
  child.on('exit', (code) => process.exit(code ?? 1));
}

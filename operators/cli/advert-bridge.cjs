#!/usr/bin/env node
// Starts the command line. In the package it runs the bundle, because Node does not run TypeScript inside node_modules;
// in the repository it runs the source. This file is plain JavaScript, so that an old Node can print which version is
// needed.
const { spawnSync } = require('node:child_process');
const { existsSync } = require('node:fs');
const { enableCompileCache } = require('node:module');
const { join } = require('node:path');

// They keep the heap of a run small, because V8 would otherwise let it grow with the load
// (docs/decisions/0007-embedded-state.md). They do not stand in the first line, because the `env` of Alpine has no -S.
const heap = ['--max-semi-space-size=16', '--max-old-space-size=2000'];

const [major, minor] = process.versions.node.split('.').map(Number);
const words = process.argv.slice(2);
const isDemo = words[0] === 'demo';
const hasNode24 = /\bnode@24\b/.test(process.env.npm_config_package);
const needsSqlite = isDemo || words.some((word) => /^--local(=|$)/.test(word));
const isSource = existsSync(join(__dirname, 'main.ts'));
if (isSource && !process.features.typescript) {
  console.error(
    `advert-bridge: this is Node ${process.versions.node}, which does not run the repository's TypeScript. Use the one that npm has installed: npm run bridge -- ${words[0] ?? '--help'} …`,
  );
  process.exit(2);
} else if (major < 20 || (major === 20 && minor < 16)) {
  console.error(
    `advert-bridge: it needs Node 20.16 or later, with a bridge in a folder 22.13; this is ${process.versions.node}.`,
  );
  process.exit(2);
} else if (!needsSqlite || major > 22 || (major === 22 && minor >= 13)) start();
else if (isDemo && !hasNode24) startWithNode24();
else {
  const mend = hasNode24
    ? 'npm brought no Node 24: does its configuration say ignore-scripts=true? Install Node 22.13 or later.'
    : `Install a newer one, or run: npx -p node@24 -- node ${process.argv[1]} …`;
  console.error(
    `advert-bridge: an embedded bridge needs Node 22.13 or later; this is ${process.versions.node}. ${mend}`,
  );
  process.exit(2);
}

function start() {
  const isRun = words[0] === 'run' && !heap.every((option) => process.execArgv.includes(option));
  // It has the same process ID then. Windows and older Nodes cannot.
  if (isRun && process.execve && process.platform !== 'win32') {
    const args = [process.execPath, ...process.execArgv, ...heap, ...process.argv.slice(1)];
    process.execve(process.execPath, args, process.env);
  }
  const { HTTPS_PROXY, https_proxy = HTTPS_PROXY } = process.env;
  if (https_proxy && !process.allowedNodeEnvironmentFlags.has('--use-env-proxy')) {
    console.error(
      `advert-bridge: HTTPS_PROXY is set, but Node ${process.versions.node} uses no proxy; Node 22.21, 24.5 and later do.`,
    );
  }
  // Many versions of Node say that their SQLite is experimental, at each command.
  const { emitWarning } = process;
  process.emitWarning = (warning, ...about) => {
    if (!/^SQLite is /.test(warning)) emitWarning.call(process, warning, ...about);
  };
  // Compiling the bundle takes longer than most commands, so the compiled code is cached. The cache is in this
  // package's own folder, because everybody can write to Node's default folder.
  enableCompileCache?.(join(__dirname, '../../node_modules/.cache/advert-bridge'));
  if (isSource) import('./main.ts');
  else require('../../dist/cli/main.cjs');
}

/**
 * A first try must not fail because of the installed Node version. For running a bridge, the operator chooses the Node
 * version.
 */
function startWithNode24() {
  console.error(
    `advert-bridge: a demo needs Node 22.13 or later; this is ${process.versions.node}. npx fetches Node 24 for it …`,
  );
  const node24 = ['--yes', '--package', 'node@24', '--', 'node', ...process.execArgv, __filename, ...words];
  // Ctrl-C reaches the demo directly; this process waits until the demo has ended.
  process.on('SIGINT', () => undefined);
  const { status, error } = spawnSync('npx', node24, { stdio: 'inherit' });
  if (error)
    console.error(`advert-bridge: npx cannot be run (${error.message}). Install Node 22.13 or later`);
  process.exit(status ?? 1);
}

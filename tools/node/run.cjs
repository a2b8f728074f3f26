/**
 * Runs a program on the Node that `npm ci` has installed in this repository, whatever Node and npm started it:
 *
 *     node tools/node/run.cjs [options of Node] PROGRAM [arguments]
 *
 * It is found by its path, because npm 10 makes no link to it in node_modules/.bin. Plain JavaScript for any Node.
 */
const { spawn } = require('node:child_process');
const { existsSync } = require('node:fs');
const { constants } = require('node:os');
const { delimiter, dirname, join } = require('node:path');

const { optionalDependencies } = require('./package.json');
const modules = join(__dirname, '../../node_modules');
const machine = `${process.platform.replace('win32', 'win')}-${process.arch}`;
const [installed] = Object.keys(optionalDependencies)
  .filter((name) => name.endsWith(`-${machine}`))
  .map((name) => join(modules, name, 'bin', process.platform === 'win32' ? 'node.exe' : 'node'))
  .filter((path) => existsSync(path));

if (!existsSync(modules)) fail('Run npm ci first.');
else if (!existsSync(join(modules, 'advert-bridge-node')))
  fail(
    'npm ci left out what development needs (NODE_ENV=production, or omit=dev): run npm ci --include=dev.',
  );
else if (installed) start(installed, startOwn);
else startOwn();

/** Where npm has installed no Node (`--omit=optional`, another kind of machine) or one that does not start (Alpine). */
function startOwn() {
  if (process.features.typescript) start(process.execPath, ({ message }) => fail(message));
  else {
    fail(
      `this is Node ${process.versions.node}, which does not run TypeScript, and npm ci has installed no Node 24 that starts here (${machine}). Install Node 22.18 or later, or run npm ci with its optional packages.`,
    );
  }
}

function start(node, otherwise) {
  const path = dirname(node) + delimiter + process.env.PATH;
  const child = spawn(node, process.argv.slice(2), { stdio: 'inherit', env: { ...process.env, PATH: path } });
  child.once('error', otherwise);
  // The terminal sends Ctrl-C to both.
  process.on('SIGINT', () => undefined);
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.once('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
}

function fail(sentence) {
  console.error(`advert-bridge: ${sentence}`);
  process.exit(2);
}

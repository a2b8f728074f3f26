/**
 * The browser check: a headless Chromium does what a new user does to connect a partner account, on the pages of the
 * sandbox and of the command line. Needs Chromium beside Node (chromium.ts says how to get it).
 *
 * `npm run test:browser -- FOLDER` keeps the screenshots in FOLDER.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { startSandbox } from '../../sandbox/server.ts';
import { Processes } from '../deploy/emulator/processes.ts';
import { RunEndedError, Steps } from '../deploy/emulator/steps.ts';
import { findChromium, howToInstall, launch } from './chromium.ts';
import { bridgeCommand } from './command.ts';
import { connectSteps } from './connect-steps.ts';
import { consoleSteps } from './console-steps.ts';
import { demoSteps } from './demo-steps.ts';

const executable = findChromium();
if (executable === undefined) {
  console.error(howToInstall);
  process.exit(1);
}

const begun = Date.now();
const steps = new Steps((line) => console.log(line));
const processes = new Processes();
const folder = await mkdtemp(join(tmpdir(), 'advert-bridge-browser-'));
const [, , kept] = process.argv;
const screenshots = kept === undefined ? folder : resolve(kept);
await mkdir(screenshots, { recursive: true });
const sandbox = await startSandbox({
  users: [{ name: 'main' }, { name: 'second' }],
  visibilityDelayMs: 0,
});

try {
  const browser = await steps.need(`${executable} starts`, () => launch(executable));
  try {
    const bridgeIn = (dir: string) => bridgeCommand(['--local', join(folder, dir)], processes);
    const bridge = bridgeIn('state');
    await connectSteps({ steps, browser, sandbox, bridge, screenshots });
    const surroundings = { steps, browser, screenshots };
    const crowd = { dir: join(folder, 'crowd'), bridge: bridgeIn('crowd') };
    await consoleSteps({ ...surroundings, sandbox, bridge, nothing: bridgeIn('nothing'), crowd });
    await demoSteps({ ...surroundings, bridge: bridgeCommand([], processes) });
  } finally {
    await browser.close();
  }
} catch (error) {
  if (!(error instanceof RunEndedError)) steps.failed += 1;
  console.log(error instanceof RunEndedError ? error.message : error);
} finally {
  await processes.stopAll();
  await sandbox.close();
  await rm(folder, { recursive: true, force: true, maxRetries: 3 });
}
console.log(`in ${((Date.now() - begun) / 1000).toFixed(0)} s`);
console.log(`browser: ${steps.passed} passed, ${steps.failed} failed`);
process.exitCode = steps.failed > 0 ? 1 : 0;

/**
 * The browser check: a headless Chromium does what a new user does to connect a partner account, on the pages of the
 * sandbox and of the command line. Needs Chromium beside Node.
 *
 * `npm run test:browser -- FOLDER` keeps the screenshots in FOLDER.
 */
import { accessSync, constants } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { chromium } from 'playwright-core';
import { startSandbox } from '../../sandbox/server.ts';
import { Processes } from '../deploy/emulator/processes.ts';
import { RunEndedError, Steps } from '../deploy/emulator/steps.ts';
import { advertBridgeOn } from '../deploy/stack/advert-bridge.ts';
import { connectSteps } from './connect-steps.ts';
import { consoleSteps, demoSteps } from './console-steps.ts';

/** As Debian, Ubuntu, Alpine and Google name it. */
const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];
const { CHROMIUM, PATH = '' } = process.env;
const places = PATH.split(delimiter).flatMap((folder) => names.map((name) => join(folder, name)));
const executable = (CHROMIUM ? [CHROMIUM] : places).find(isExecutable);
if (executable === undefined) {
  console.error(
    'There is no Chromium to drive. Install one (Debian, Ubuntu: apt-get install chromium), or say where it is with ' +
      'CHROMIUM=/path/to/chromium.',
  );
  process.exit(1);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
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
  // Its own sandbox needs rights that root in a container does not have; it is shown nothing but our own pages.
  const chromiumSandbox = process.getuid?.() !== 0;
  const browser = await steps.need(`${executable} starts`, () =>
    chromium.launch({ executablePath: executable, chromiumSandbox, args: ['--disable-dev-shm-usage'] }),
  );
  try {
    const bridgeIn = (dir: string) => advertBridgeOn({ PATH }, processes, ['--local', join(folder, dir)]);
    const bridge = bridgeIn('state');
    const surroundings = { steps, browser, sandbox, screenshots };
    await connectSteps(surroundings, bridge);
    const empty = { dir: join(folder, 'crowd'), many: bridgeIn('crowd'), nothing: bridgeIn('nothing') };
    await consoleSteps(surroundings, bridge, empty);
    await demoSteps(surroundings, advertBridgeOn({ PATH }, processes));
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

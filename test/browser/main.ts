/**
 * The browser check: a headless Chromium does what a new user does to connect a partner account, on the pages of the
 * sandbox and of the command line. Needs Chromium beside Node.
 *
 * `npm run test:browser -- FOLDER` keeps the screenshots in FOLDER.
 */
import { accessSync, constants } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { delimiter, join, resolve } from 'node:path';
import { chromium } from 'playwright-core';
import { startSandbox } from '../../sandbox/server.ts';
import { runSteps } from '../deploy/emulator/run.ts';
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

await runSteps('browser', async ({ steps, processes, folder, closing }) => {
  const [, , kept] = process.argv;
  const screenshots = kept === undefined ? folder : resolve(kept);
  await mkdir(screenshots, { recursive: true });
  const users = [{ name: 'main' }, { name: 'second' }];
  const sandbox = await startSandbox({ users, visibilityDelayMs: 0 });
  closing.push(() => sandbox.close());
  // Its own sandbox needs rights that root in a container does not have; it is shown nothing but our own pages.
  const chromiumSandbox = process.getuid?.() !== 0;
  const browser = await steps.need(`${executable} starts`, () =>
    chromium.launch({ executablePath: executable, chromiumSandbox, args: ['--disable-dev-shm-usage'] }),
  );
  closing.push(() => browser.close());
  const bridgeIn = (dir: string) => advertBridgeOn({ PATH }, processes, ['--local', join(folder, dir)]);
  const bridge = bridgeIn('state');
  const surroundings = { steps, browser, sandbox, screenshots };
  await connectSteps(surroundings, bridge);
  const empty = { dir: join(folder, 'crowd'), many: bridgeIn('crowd'), nothing: bridgeIn('nothing') };
  await consoleSteps(surroundings, bridge, empty);
  await demoSteps(surroundings, advertBridgeOn({ PATH }, processes));
});

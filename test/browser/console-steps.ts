import assert from 'node:assert/strict';
import type { Browser } from 'playwright-core';
import type { Sandbox } from '../../sandbox/server.ts';
import type { Steps } from '../deploy/emulator/steps.ts';
import type { BridgeCommand, Started } from './command.ts';
import { checkLooks, watchConsole } from './page-checks.ts';

export interface ConsoleSurroundings {
  readonly steps: Steps;
  readonly browser: Browser;
  readonly sandbox: Sandbox;
  /** An embedded bridge with the connected partner account `main`. */
  readonly bridge: BridgeCommand;
  /** For screenshots. */
  readonly screenshots: string;
}

/** What the console promises: new events within 3 s, and that something is gone within 10 s. */
const soonMs = 3_000;
const goneMs = 10_000;
const waitMs = 60_000;

/** As an operator would: open the page, watch, steer, and see what goes wrong. */
export async function consoleSteps(surroundings: ConsoleSurroundings): Promise<void> {
  const { steps, browser, sandbox, bridge, screenshots } = surroundings;
  const { control } = sandbox;
  const context = await browser.newContext({ reducedMotion: 'reduce' });
  const page = await context.newPage();
  page.setDefaultTimeout(waitMs);
  const said = watchConsole(page);
  const foreign: string[] = [];
  page.on('request', (request) => {
    if (new URL(request.url()).hostname !== '127.0.0.1') foreign.push(request.url());
  });
  /** The page's policy allows no script of a test that asks in the page. */
  async function titleMatches(wanted: RegExp, timeout = waitMs): Promise<void> {
    for (
      const until = Date.now() + timeout;
      !wanted.test(await page.title());
      await page.waitForTimeout(100)
    ) {
      if (Date.now() > until) assert.match(await page.title(), wanted);
    }
  }
  const titleBegins = (text: string, timeout = waitMs) => titleMatches(new RegExp(`^${text}`), timeout);
  const run = () => bridge.start(['run', '--poll-seconds', '1'], /./);
  let running = await run();
  let console: Started;

  await steps.need('the console prints its address first, and the page opens', async () => {
    console = await bridge.start(['console', '--no-open'], /^(http:\S+)$/m);
    await page.goto(console.printed);
    await titleBegins('All well');
    assert.equal(page.url(), new URL('/', console.printed).href, 'the token is gone from the address');
  });

  await steps.check('a new event shows within 3 s, and leads to the history of its advert', async () => {
    const [id = ''] = control.createAdverts(1, { user: 'main', status: 'active' });
    const log = page.getByRole('log');
    await log.getByText(`advert ${id}`).waitFor({ timeout: soonMs + 1_000 });
    control.setStatus(id, 'limited');
    await log.getByText('active → limited').waitFor({ timeout: soonMs + 1_000 });
    await page.getByLabel('Advert', { exact: true }).fill(id);
    await page.getByRole('button', { name: 'History' }).click();
    const history = page.getByRole('region', { name: 'History' });
    await history.getByText('active → limited', { exact: true }).waitFor();
    assert.equal(await history.getByRole('listitem').count(), 2);
  });

  await steps.check('it is good in both colour schemes and in a narrow window', () =>
    checkLooks(page, screenshots, 'console'),
  );

  await steps.check('an account is paused with a reason and resumed, by keyboard alone', async () => {
    await page.getByRole('button', { name: 'Pause main' }).focus();
    await page.keyboard.press('Enter');
    await page.getByLabel('Why?').waitFor();
    await page.keyboard.type('a look <b>inside</b>');
    await page.keyboard.press('Enter');
    await page.getByRole('row', { name: /main/ }).getByText('paused', { exact: true }).waitFor();
    await page.getByText('a look <b>inside</b>').first().waitFor();
    await checkLooks(page, screenshots, 'console-paused');
    await page.getByRole('button', { name: 'Resume main' }).focus();
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    await page.getByRole('dialog').getByRole('button', { name: 'Resume main' }).click();
    await page.getByRole('row', { name: /main/ }).getByText('polling', { exact: true }).waitFor();
  });

  await steps.check('an outage of the service shows within a minute, and its end too', async () => {
    control.faults.add({ endpoint: 'advert', kind: 'status', status: 500 });
    control.createAdverts(5, { user: 'main', status: 'active' });
    await titleMatches(/need/);
    await checkLooks(page, screenshots, 'console-outage');
    control.faults.clear();
    await titleBegins('All well', 2 * waitMs);
  });

  await steps.check('the page says within 10 s that the process of the bridge is gone', async () => {
    running.kill('SIGKILL');
    await titleMatches(/^(?!All well)/, goneMs);
    running = await run();
    await titleBegins('All well');
  });

  await steps.check('the page says within 10 s that the console is gone', async () => {
    console.kill('SIGTERM');
    await titleBegins('Cut off', goneMs);
    assert.equal((await console.ended).code, 0);
  });

  await steps.check('the page asked nobody but the console, and no script failed', async () => {
    const lost =
      /net::ERR_(CONNECTION_REFUSED|INCOMPLETE_CHUNKED_ENCODING|NETWORK_IO_SUSPENDED|EMPTY_RESPONSE)/;
    assert.deepEqual(foreign, []);
    assert.deepEqual(
      said.filter((line) => !lost.test(line)),
      [],
    );
  });
  await context.close();
  running.kill('SIGTERM');
}

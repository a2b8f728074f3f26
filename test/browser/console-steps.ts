import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import type { AdvertBridge } from '../deploy/stack/advert-bridge.ts';
import { crowdSteps } from './crowd-steps.ts';
import { checkLooks, openConsole, type Surroundings } from './pages.ts';

/** What the console promises: new events within 3 s, and that something is gone within 10 s. */
const soonMs = 3_000;
const goneMs = 10_000;

/** As an operator would: open the page, watch, steer, and see what goes wrong. */
export async function consoleSteps(
  surroundings: Surroundings,
  /** An embedded bridge with the connected partner account `main`. */
  bridge: AdvertBridge,
  /** In folders without a bridge: `many` is for one with many partner accounts, in the folder `dir`. */
  { dir, many, nothing }: { dir: string; many: AdvertBridge; nothing: AdvertBridge },
): Promise<void> {
  const { steps, browser, sandbox, screenshots } = surroundings;
  const { control } = sandbox;
  const run = () => bridge.start(['run', '--poll-seconds', '1'], /./);
  const startConsole = (port = '0') =>
    bridge.start(['console', '--no-open', '--port', port], /^(http:\S+)$/m);
  let running = await run();
  const console = await startConsole();

  const { page, titleMatches, close } = await steps.need(
    'the console prints its address first, and the page opens',
    async () => {
      const opened = await openConsole(browser, console.printed);
      await opened.titleMatches(/^All well/);
      assert.equal(
        opened.page.url(),
        new URL('/', console.printed).href,
        'the token is gone from the address',
      );
      return opened;
    },
  );

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

  await steps.check('a cookie replayed from a server on another port is worth nothing', () =>
    replayCookie(page),
  );

  await steps.check('a reloaded page and a second tab show the bridge', async () => {
    await page.reload();
    await titleMatches(/^All well/);
    const tab = await page.context().newPage();
    await tab.goto(page.url());
    await tab.getByText('Changes of').waitFor();
    await tab.close();
  });

  await steps.check('it is good in both colour schemes and in a narrow window', async () => {
    await checkLooks(page, screenshots, 'console');
    await page.getByRole('table', { name: 'Partner accounts' }).waitFor();
    await page.getByText('scroll it sideways').waitFor();
    await page.screenshot({ path: join(screenshots, 'console-whole.png'), fullPage: true });
    await page.setViewportSize({ width: 1_000, height: 720 });
    await page.getByText('scroll it sideways').waitFor({ state: 'hidden' });
  });

  await steps.check('an account is paused with a reason and resumed, by keyboard alone', async () => {
    const state = (name: string) => page.getByRole('row', { name: /main/ }).getByText(name, { exact: true });
    await page.getByRole('button', { name: 'Pause main' }).focus();
    await page.keyboard.press('Enter');
    await page.getByLabel('Why?').waitFor();
    await page.getByText(/pause main --local /).waitFor();
    await page.keyboard.type('a look <b>inside</b>');
    await page.keyboard.press('Enter');
    await state('paused').waitFor();
    await page.getByText('a look <b>inside</b>').first().waitFor();
    await checkLooks(page, screenshots, 'console-paused', 'narrow');
    await page.getByRole('button', { name: 'Resume main' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    const focused = page.locator(':focus');
    while ((await focused.textContent()) !== 'Resume main') await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await state('polling').waitFor();
  });

  await steps.check('a second console shows the same bridge beside the first', async () => {
    const other = await startConsole();
    const second = await openConsole(browser, other.printed);
    const [id = ''] = control.createAdverts(1, { user: 'main', status: 'active' });
    for (const one of [page, second.page]) await one.getByRole('log').getByText(`advert ${id}`).waitFor();
    await second.close();
    other.kill('SIGTERM');
    assert.equal((await other.ended).code, 0);
  });

  await steps.check(
    'a folder without a bridge has no console, and the command says how to begin',
    async () => {
      const { stderr } = await nothing.run(['console', '--no-open'], '', { expected: [1] });
      assert.match(stderr, /there is no bridge in/);
    },
  );

  // The bridge has time to notice it while other things are tried.
  const outageBegan = Date.now();
  const outage = control.faults.add({ kind: 'status', status: 503 });
  await crowdSteps(surroundings, dir, many);

  await steps.check('an outage of the service shows within a minute, and its end too', async () => {
    await titleMatches(/need|fail/, outageBegan + 60_000 - Date.now());
    await checkLooks(page, screenshots, 'console-outage', 'dark');
    control.faults.remove(outage);
    await titleMatches(/^All well/);
  });

  await steps.check('the page says within 10 s that the process of the bridge is gone', async () => {
    running.kill('SIGKILL');
    await titleMatches(/^(?!All well)/, goneMs);
    running = await run();
    await titleMatches(/^All well/);
  });

  await steps.check('the page says within 10 s that the console is gone', async () => {
    console.kill('SIGTERM');
    await titleMatches(/^Cut off/, goneMs);
    assert.equal((await console.ended).code, 0);
    await page
      .getByRole('status')
      .filter({ hasText: /start it again, and open .*console .*--local/ })
      .waitFor();
    await checkLooks(page, screenshots, 'console-gone', 'light');
  });

  await steps.check('the page comes back when a tab opens the address of the next console', async () => {
    const next = await startConsole(new URL(page.url()).port);
    await page.getByRole('status').getByText('open the address that the console printed').waitFor();
    const tab = await page.context().newPage();
    await tab.goto(next.printed);
    await titleMatches(/^All well/);
    await tab.close();
    next.kill('SIGTERM');
    await next.ended;
  });

  await steps.check('the page asked nobody but the console, and no script failed', close);
  running.kill('SIGTERM');
}

/** As another user of this machine could: listens on another port, and sends what the browser sends there to the console. */
async function replayCookie(page: Page): Promise<void> {
  let cookie = '';
  const server = createServer(({ headers }, response) => {
    cookie ||= headers.cookie ?? '';
    response.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const tab = await page.context().newPage();
  await tab.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  await tab.close();
  server.close();
  assert.match(cookie, /advert-bridge-console/, 'the browser sends the cookie to every port');
  const { origin } = new URL(page.url());
  const action = {
    ...{ method: 'POST', body: '{"action":"poll"}' },
    headers: { cookie, origin, 'content-type': 'application/json' },
  };
  const requests: [string, RequestInit][] = [
    ...['stream', 'history?account=main&advert=1', 'dead-letters'].map((path): [string, RequestInit] => [
      path,
      { headers: { cookie } },
    ]),
    ['actions', action],
  ];
  for (const [path, request] of requests)
    assert.equal((await fetch(`${origin}/${path}`, request)).status, 403, path);
}

/** What can be broken in the demo, and what its page then says. */
const broken = [
  ['Process killed', /^1 needs attention/],
  ['User revokes', /^1 needs attention/],
  // Amber after the first failed poll, red after the second, a second later.
  ['Service down', /^(Trying again|Waiting|\d need)/],
] as const;

/** The demo that `npm start` begins. */
export async function demoSteps(
  { steps, browser, screenshots }: Surroundings,
  bridge: AdvertBridge,
): Promise<void> {
  await steps.check(
    'the demo prints the address of its console, which breaks and mends its bridge',
    async () => {
      const demo = await bridge.start(['demo'], /(http:\S+token=\S+)/);
      const { page, titleMatches, close } = await openConsole(browser, demo.printed);
      await page.getByRole('log').getByText('advert').first().waitFor();
      for (const [name, title] of broken) {
        await page.getByRole('button', { name }).click();
        await titleMatches(title, goneMs);
        if (name === 'Service down') {
          await titleMatches(/need/);
          await page
            .getByText(/tries again in \d+ s/)
            .first()
            .waitFor();
          await checkLooks(page, screenshots, 'demo');
        }
        await page.getByRole('button', { name, pressed: true }).click();
        await titleMatches(/^All well/);
      }
      await page.getByRole('button', { name: 'Cursor rejected' }).click();
      const reset = page.getByText(/The cursor of main was rejected at [\d:]{8}/);
      await reset.waitFor();
      await checkLooks(page, screenshots, 'demo-cursor', 'light');
      await page.getByRole('button', { name: 'User revokes' }).click();
      await reset.waitFor({ state: 'hidden' });
      await page.getByText('refresh token rejected').waitFor();
      await checkLooks(page, screenshots, 'demo-stopped', 'narrow');
      await close();
      demo.kill('SIGTERM');
      await demo.ended;
    },
  );
}

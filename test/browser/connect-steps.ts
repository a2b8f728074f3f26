import assert from 'node:assert/strict';
import type { Browser, Page } from 'playwright-core';
import type { Sandbox } from '../../sandbox/server.ts';
import type { Steps } from '../deploy/emulator/steps.ts';
import type { BridgeCommand } from './command.ts';
import { checkLooks, watchConsole } from './page-checks.ts';

export interface Surroundings {
  readonly steps: Steps;
  readonly browser: Browser;
  readonly sandbox: Sandbox;
  readonly bridge: BridgeCommand;
  /** For screenshots. */
  readonly screenshots: string;
}

const waitMs = 20_000;

/** As a new user would: print the address, open it, log in, decide, read what it says. */
export async function connectSteps({
  steps,
  browser,
  sandbox,
  bridge,
  screenshots,
}: Surroundings): Promise<void> {
  /** A browser of a person who was never here. */
  async function asPerson(work: (page: Page) => Promise<void>): Promise<void> {
    const context = await browser.newContext();
    const page = await context.newPage();
    page.setDefaultTimeout(waitMs);
    try {
      await work(page);
    } finally {
      await context.close();
    }
  }

  const logIn = async (page: Page, user: string): Promise<void> => {
    await page.getByLabel('Log in as').selectOption(user);
  };
  const heading = (page: Page) => page.getByRole('heading', { level: 1 }).innerText();

  await steps.need('the application is stored', async () => {
    const { clientId, clientSecret } = sandbox.application;
    const args = ['application', '--base-url', sandbox.url, '--client-id', clientId, '--client-secret-stdin'];
    assert.equal((await bridge.run(args, clientSecret)).code, 0);
  });

  await steps.check('a user who denies is told that nothing is connected', () =>
    asPerson(async (page) => {
      const { url, ended } = await bridge.connect(['main']);
      await page.goto(url);
      await logIn(page, 'main');
      await page.getByRole('button', { name: 'Deny' }).click();
      await page.waitForURL(/\/callback\/result$/);
      assert.equal(await heading(page), 'main is not connected');
      await checkLooks(page, screenshots, 'denied');
      const { code, stderr } = await ended;
      assert.equal(code, 1);
      assert.match(stderr, /the user or the partner service denied access/);
      assert.deepEqual((await statusOf(bridge)).partnerAccounts, []);
    }),
  );

  await steps.check(
    'a user who allows it by keyboard is told that it is connected, and status shows polling',
    () =>
      asPerson(async (page) => {
        const said = watchConsole(page);
        const { url, ended } = await bridge.connect(['main']);
        const requests: string[] = [];
        page.on('request', (request) => requests.push(new URL(request.url()).pathname));
        await page.goto(url);
        await checkLooks(page, screenshots, 'consent');
        await logIn(page, 'main');
        await page.getByRole('button', { name: 'Allow' }).focus();
        await page.keyboard.press('Enter');
        await page.waitForURL(/\/callback\/result$/);
        assert.equal(await heading(page), 'main is connected');
        await checkLooks(page, screenshots, 'connected');
        assert.deepEqual(requests, [
          '/oauth/authorize/',
          '/oauth/authorize/',
          '/callback',
          '/callback/result',
        ]);
        assert.deepEqual(said, []);
        const { code, stderr } = await ended;
        assert.equal(code, 0, stderr);
        assert.equal((await statusOf(bridge)).partnerAccounts[0]?.state, 'polling');
      }),
  );

  await steps.check('the code is not in the address, nor where the back button leads', () =>
    asPerson(async (page) => {
      const { url, ended } = await bridge.connect(['second']);
      await page.goto(url);
      await logIn(page, 'second');
      await page.getByRole('button', { name: 'Allow' }).click();
      await page.waitForURL(/\/callback\/result$/);
      await ended;
      assert.doesNotMatch(page.url(), /code=/);
      await page.goBack({ waitUntil: 'commit' }).catch(() => undefined);
      assert.doesNotMatch(page.url(), /code=/);
    }),
  );

  await steps.check('events go on with the token pair that the flow brought', async () => {
    sandbox.control.createAdverts(2, { user: 'main', status: 'active' });
    const { code, stdout } = await bridge.run(['run', '--until-idle']);
    assert.equal(code, 0);
    assert.equal(stdout.trim().split('\n').length, 2);
  });

  await steps.check('another user under a known name is refused, on the page too', () =>
    asPerson(async (page) => {
      sandbox.control.createAdverts(1, { user: 'second' });
      const { url, ended } = await bridge.connect(['main']);
      await page.goto(url);
      await logIn(page, 'second');
      await page.getByRole('button', { name: 'Allow' }).click();
      await page.waitForURL(/\/callback\/result$/);
      assert.equal(await heading(page), 'main is not connected');
      assert.match(await page.locator('main').innerText(), /Another user authorized/);
      await checkLooks(page, screenshots, 'other-user');
      assert.equal((await ended).code, 2);
    }),
  );

  await steps.check('an image on a page of somebody else does not use up the answer', () =>
    asPerson(async (page) => {
      const { url, ended } = await bridge.connect(['main']);
      const callback = new URL(new URL(url).searchParams.get('redirect_uri') ?? '');
      const refused = page.waitForResponse((response) => response.url().startsWith(callback.href));
      await page.route('https://elsewhere.example/', (route) =>
        route.fulfill({
          contentType: 'text/html',
          body: `<img src="${callback.href}?code=x&state=y" alt="">`,
        }),
      );
      await page.goto('https://elsewhere.example/').catch(() => undefined);
      const status = await Promise.race([
        refused.then((response) => response.status()),
        page.waitForTimeout(3000),
      ]);
      // A browser may also keep such a page from reaching loopback at all.
      assert.ok(status === undefined || status === 403, `answered ${status}`);
      await page.goto(url);
      await logIn(page, 'main');
      await page.getByRole('button', { name: 'Allow' }).click();
      await page.waitForURL(/\/callback\/result$/);
      assert.equal(await heading(page), 'main is connected again');
      assert.equal((await ended).code, 0);
    }),
  );

  await steps.check('a page of somebody else that leads the browser to the callback does not end it', () =>
    asPerson(async (page) => {
      const { url, ended } = await bridge.connect(['main']);
      const callback = new URL(new URL(url).searchParams.get('redirect_uri') ?? '');
      await page.goto(`${callback.href}?error=access_denied&state=x`);
      assert.equal(await heading(page), 'This answer does not belong to this request');
      await checkLooks(page, screenshots, 'not-ours');
      await page.goto(url);
      await logIn(page, 'main');
      await page.getByRole('button', { name: 'Allow' }).click();
      await page.waitForURL(/\/callback\/result$/);
      assert.equal(await heading(page), 'main is connected again');
      const { code, stderr } = await ended;
      assert.equal(code, 0, stderr);
      assert.match(stderr, /its state is missing or different/);
    }),
  );

  await steps.check('a link to the partner service that does not work says so', () =>
    asPerson(async (page) => {
      await page.goto(`${sandbox.url}/oauth/authorize/?client_id=nobody`);
      assert.equal(await heading(page), 'This link does not work');
      await checkLooks(page, screenshots, 'broken-link');
    }),
  );
}

interface Status {
  readonly partnerAccounts: readonly { readonly name: string; readonly state: string }[];
}

async function statusOf(bridge: BridgeCommand): Promise<Status> {
  return JSON.parse((await bridge.run(['status', '--json'])).stdout) as Status;
}

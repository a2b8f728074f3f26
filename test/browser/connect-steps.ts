import assert from 'node:assert/strict';
import type { Page } from 'playwright-core';
import type { AdvertBridge } from '../deploy/stack/advert-bridge.ts';
import { checkLooks, type Surroundings, watchConsole } from './pages.ts';

const waitMs = 20_000;

/** As a new user would: print the address, open it, log in, decide, read what it says. */
export async function connectSteps(surroundings: Surroundings, bridge: AdvertBridge): Promise<void> {
  const { steps, browser, sandbox, screenshots } = surroundings;

  /** A check in the browser of a person who was never here. */
  const check = (title: string, body: (page: Page) => Promise<void>): Promise<void> =>
    steps.check(title, async () => {
      const context = await browser.newContext();
      const page = await context.newPage();
      page.setDefaultTimeout(waitMs);
      await body(page).finally(() => context.close());
    });
  const shows = async (page: Page, text: RegExp) =>
    assert.match(await page.locator('body').innerText(), text);
  const callbackIn = (url: string) => new URL(url).searchParams.get('redirect_uri') ?? '';
  const states = async () => (await bridge.status()).partnerAccounts.map(({ state }) => state);

  /** Opens the address, logs in and decides; the last page leads to the terminal. */
  async function decide(page: Page, url: string, user: string, button: 'Allow' | 'Deny') {
    await page.goto(url);
    await page.getByLabel('Log in as').selectOption(user);
    // By keyboard.
    await page.getByRole('button', { name: button }).focus();
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/callback\/result$/);
    await shows(page, /The terminal shows the outcome/);
  }

  await steps.need('the application is stored', async () => {
    const { clientId, clientSecret } = sandbox.application;
    const args = ['application', '--base-url', sandbox.url, '--client-id', clientId, '--client-secret-stdin'];
    await bridge.run(args, clientSecret);
  });

  await check('a user who denies connects nothing, as the terminal says', async (page) => {
    const { printed: url, ended } = await bridge.connect('main');
    await decide(page, url, 'main', 'Deny');
    const { code, stderr } = await ended;
    assert.equal(code, 1);
    assert.match(stderr, /the user or the partner service denied access/);
    assert.deepEqual(await states(), []);
  });

  await check('a user who allows it is connected, and status shows polling', async (page) => {
    const said = watchConsole(page);
    const { printed: url, ended } = await bridge.connect('main');
    await page.goto(url);
    await checkLooks(page, screenshots, 'consent');
    const requests: string[] = [];
    page.on('request', (request) => requests.push(new URL(request.url()).pathname));
    await decide(page, url, 'main', 'Allow');
    const [consent, callback] = ['/oauth/authorize/', '/callback'];
    assert.deepEqual(requests, [consent, consent, callback, `${callback}/result`]);
    assert.deepEqual(said, []);
    const { code, stderr } = await ended;
    assert.equal(code, 0, stderr);
    assert.deepEqual(await states(), ['polling']);
  });

  await check('the code is not in the address, nor where the back button leads', async (page) => {
    const { printed: url, ended } = await bridge.connect('second');
    await decide(page, url, 'second', 'Allow');
    await ended;
    assert.doesNotMatch(page.url(), /code=/);
    await page.goBack({ waitUntil: 'commit' }).catch(() => undefined);
    assert.doesNotMatch(page.url(), /code=/);
  });

  await check('another user under a known name is refused', async (page) => {
    sandbox.control.createAdverts(2, { user: 'main', status: 'active' });
    assert.equal((await bridge.run(['run', '--until-idle'])).stdout.trim().split('\n').length, 2);
    sandbox.control.createAdverts(1, { user: 'second' });
    const { printed: url, ended } = await bridge.connect('main');
    await decide(page, url, 'second', 'Allow');
    const { code, stderr } = await ended;
    assert.equal(code, 2, stderr);
    assert.match(stderr, /another user authorized/i);
  });

  await check('an image on a page of somebody else does not use up the answer', async (page) => {
    const { printed: url, ended } = await bridge.connect('main');
    const callback = callbackIn(url);
    const refused = page.waitForResponse((response) => response.url().startsWith(callback));
    const body = `<img src="${callback}?code=x&state=y" alt="">`;
    await page.route('https://elsewhere.example/', (route) =>
      route.fulfill({ contentType: 'text/html', body }),
    );
    await page.goto('https://elsewhere.example/').catch(() => undefined);
    const status = await Promise.race([
      refused.then((response) => response.status()),
      page.waitForTimeout(3000),
    ]);
    // A browser may also keep such a page from reaching loopback at all.
    assert.ok(status === undefined || status === 400, `answered ${status}`);
    await decide(page, url, 'main', 'Allow');
    assert.equal((await ended).code, 0);
  });

  await check(
    'a page of somebody else that leads the browser to the callback does not end it',
    async (page) => {
      const { printed: url, ended } = await bridge.connect('main');
      await page.goto(`${callbackIn(url)}?error=access_denied&state=x`);
      await shows(page, /not the answer that the command in the terminal waits for/);
      await decide(page, url, 'main', 'Allow');
      const { code, stderr } = await ended;
      assert.equal(code, 0, stderr);
      assert.match(stderr, /its state is missing or different/);
    },
  );

  await check('a link to the partner service that does not work says so', async (page) => {
    await page.goto(`${sandbox.url}/oauth/authorize/?client_id=nobody`);
    await shows(page, /This link does not work/);
    await checkLooks(page, screenshots, 'broken-link');
  });
}

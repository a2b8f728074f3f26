import assert from 'node:assert/strict';
import { join } from 'node:path';
import axe, { type AxeResults } from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import type { Sandbox } from '../../sandbox/server.ts';
import type { Steps } from '../deploy/emulator/steps.ts';

/** What all steps have. */
export interface Surroundings {
  readonly steps: Steps;
  readonly browser: Browser;
  readonly sandbox: Sandbox;
  /** The folder for screenshots. */
  readonly screenshots: string;
}

/** The widths and schemes that a page has to be good in. */
const looks = [
  { name: 'light', colorScheme: 'light', width: 1000, height: 720 },
  { name: 'dark', colorScheme: 'dark', width: 1000, height: 720 },
  { name: 'narrow', colorScheme: 'light', width: 320, height: 640 },
] as const;
type Look = (typeof looks)[number]['name'];

/** What the page said to the browser's console: refused resources and failing scripts show there. */
export function watchConsole(page: Page): string[] {
  const said: string[] = [];
  page.on('console', (message) => said.push(`${message.type()}: ${message.text()}`));
  page.on('pageerror', (error) => said.push(`error: ${error.message}`));
  return said;
}

/**
 * The page in each look: nothing sticks out sideways, and axe finds nothing (contrast, labels, headings, language).
 * A screenshot of each goes to `folder`.
 */
export async function checkLooks(page: Page, folder: string, name: string, only?: Look): Promise<void> {
  for (const { name: look, colorScheme, width, height } of looks) {
    if (only !== undefined && look !== only) continue;
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height });
    await page.evaluate('scrollTo(0, 0)');
    await page.screenshot({ path: join(folder, `${name}-${look}.png`) });
    const sticksOut = await page.evaluate('document.documentElement.scrollWidth - window.innerWidth');
    assert.ok(Number(sticksOut) <= 0, `${name}, ${look}: it is ${sticksOut} px wider than the window`);
    await page.evaluate(axe.source);
    const { violations } = (await page.evaluate('axe.run()')) as AxeResults;
    assert.deepEqual(
      violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(', ')}`),
      [],
      `${name}, ${look}`,
    );
  }
}

/** For what a console's page shows eventually. */
const waitMs = 60_000;
/** What the browser says of a console that has ended, and of one that was started again. */
const lost =
  /net::ERR_(CONNECTION_REFUSED|INCOMPLETE_CHUNKED_ENCODING|NETWORK_IO_SUSPENDED|EMPTY_RESPONSE)|status of 403/;

/** The page of a console, in a browser of its own. */
export async function openConsole(browser: Browser, url: string) {
  const context = await browser.newContext({ reducedMotion: 'reduce' });
  const page = await context.newPage();
  page.setDefaultTimeout(waitMs);
  const said = watchConsole(page);
  const foreign: string[] = [];
  page.on('request', (request) => {
    if (new URL(request.url()).hostname !== '127.0.0.1') foreign.push(request.url());
  });
  await page.goto(url);
  return {
    page,
    context,
    /** Whether the title is, or becomes, what is wanted. The page's policy allows no script that would ask in it. */
    async titleMatches(wanted: RegExp, timeout = waitMs) {
      const until = Date.now() + timeout;
      while (!wanted.test(await page.title()) && Date.now() < until) await page.waitForTimeout(100);
      assert.match(await page.title(), wanted);
    },
    /** Asserts that the page asked nobody but its console, and that no script failed; then closes it. */
    async close() {
      assert.deepEqual([...foreign, ...said.filter((line) => !lost.test(line))], []);
      await context.close();
    },
  };
}

import assert from 'node:assert/strict';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { watchConsole } from './page-checks.ts';

/** For what the page shows eventually. */
const waitMs = 60_000;

/** A page of a console, in a browser of its own. */
export interface ConsolePage {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Whether the title is, or becomes, what is wanted. The page's policy allows no script that would ask in it. */
  titleMatches(wanted: RegExp, timeout?: number): Promise<void>;
  /** Asserts that the page asked nobody but its console, and that no script failed; then closes it. */
  close(): Promise<void>;
}

/** What the browser says of a console that has ended. */
const lost = /net::ERR_(CONNECTION_REFUSED|INCOMPLETE_CHUNKED_ENCODING|NETWORK_IO_SUSPENDED|EMPTY_RESPONSE)/;

export async function openConsole(browser: Browser, url: string): Promise<ConsolePage> {
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
    async titleMatches(wanted, timeout = waitMs) {
      const until = Date.now() + timeout;
      while (!wanted.test(await page.title()) && Date.now() < until) await page.waitForTimeout(100);
      assert.match(await page.title(), wanted);
    },
    async close() {
      assert.deepEqual(foreign, []);
      assert.deepEqual(
        said.filter((line) => !lost.test(line)),
        [],
      );
      await context.close();
    },
  };
}

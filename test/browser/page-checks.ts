import assert from 'node:assert/strict';
import { join } from 'node:path';
import axe, { type AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';

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

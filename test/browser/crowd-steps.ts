import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser } from 'playwright-core';
import type { Steps } from '../deploy/emulator/steps.ts';
import type { BridgeCommand } from './command.ts';
import { type ConsolePage, openConsole } from './console-page.ts';
import { crowdSize, longName, makeCrowd } from './crowd.ts';
import { checkLooks } from './page-checks.ts';

export interface CrowdSurroundings {
  readonly steps: Steps;
  readonly browser: Browser;
  readonly dir: string;
  readonly bridge: BridgeCommand;
  readonly screenshots: string;
}

const redrivenMs = 60_000;
const answerMs = 200;
const all = crowdSize.deadLetters.toLocaleString('en');

/** A bridge that nobody runs, with many partner accounts and dead letters. */
export async function crowdSteps({ steps, browser, dir, bridge, screenshots }: CrowdSurroundings) {
  let opened: ConsolePage | undefined;
  await makeCrowd(dir);
  const console = await bridge.start(['console', '--no-open'], /^(http:\S+)$/m);

  await steps.need('a console of 1,000 accounts opens, and finds one by its name', async () => {
    opened = await openConsole(browser, console.printed);
    const { page } = opened;
    await page.getByLabel('Find account').fill(longName.slice(0, 20));
    await page.getByRole('rowheader', { name: longName }).waitFor();
    await checkLooks(page, screenshots, 'console-crowd', 'narrow');
  });
  if (!opened) return;
  const { page, context, close } = opened;

  await steps.check('texts of the service are shown as text', async () => {
    await page.getByLabel('Filter').fill('onerror');
    const reason = page.getByText('<img src=x onerror=alert(1)> \\u0007 \\u202ereversed').first();
    await reason.waitFor();
    assert.equal(await page.locator('table img').count(), 0);
  });

  await steps.check(
    `${all} dead letters are redriven within 60 s, and the page answers meanwhile`,
    async () => {
      await page.getByLabel('Filter').fill('account-7');
      await page.getByLabel(`Select all matching (${all})`).check();
      await page.getByRole('button', { name: 'Redrive', exact: true }).click();
      const begun = Date.now();
      await page
        .getByRole('dialog')
        .getByRole('button', { name: `Redrive ${all} dead letters` })
        .click();
      const answers: number[] = [];
      const done = page.getByText('None: the bridge has given up on no advert.');
      while ((await done.count()) === 0) {
        assert.ok(Date.now() - begun < redrivenMs, `not redriven within ${redrivenMs / 1000} s`);
        const asked = performance.now();
        await context.request.get(page.url());
        answers.push(performance.now() - asked);
        await sleep(100);
      }
      const slowest = answers.sort((a, b) => a - b)[Math.floor(answers.length * 0.9)] ?? Number.NaN;
      assert.ok(slowest < answerMs, `nine of ten answers came within ${Math.round(slowest)} ms`);
      await page.getByText(`${crowdSize.deadLetters} of ${crowdSize.deadLetters}:`).waitFor();
    },
  );

  await steps.check('the page asked nobody but its console, and no script failed', close);
  console.kill('SIGTERM');
}

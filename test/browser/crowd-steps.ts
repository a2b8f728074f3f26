import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { openEmbeddedState } from '../../embedded/state/state.ts';
import type { AdvertBridge } from '../deploy/stack/advert-bridge.ts';
import { changedAdvert, deadLetter, feedState, partnerAccount } from '../helpers/records.ts';
import { checkLooks, openConsole, type Surroundings } from './pages.ts';

const crowdSize = { accounts: 1_000, deadLetters: 10_000 };
/** As long as a name may be. */
const longName = `a${'-very-long-name'.repeat(5)}`.slice(0, 64);
/** Markup, a control character, and one that turns the direction of writing. */
const hostileText = '<img src=x onerror=alert(1)> \u0007 \u202ereversed';

const atOnce = 1_000;

const redrivenMs = 60_000;
const answerMs = 200;
const all = crowdSize.deadLetters.toLocaleString('en');

/** A bridge that nobody runs, with many partner accounts and dead letters. */
export async function crowdSteps(
  { steps, browser, screenshots }: Surroundings,
  dir: string,
  bridge: AdvertBridge,
): Promise<void> {
  await makeCrowd(dir);
  const console = await bridge.start(['console', '--no-open'], /^(http:\S+)$/m);

  const opening = 'a console of 1,000 accounts opens, and finds one by its name';
  const { page, context, close } = await steps.need(opening, async () => {
    const opened = await openConsole(browser, console.printed);
    await opened.page.getByLabel('Find account').fill(longName.slice(0, 20));
    await opened.page.getByRole('rowheader', { name: longName }).waitFor();
    await checkLooks(opened.page, screenshots, 'console-crowd', 'narrow');
    return opened;
  });

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

/** Fills a folder with the state of many partner accounts, and of many dead letters of one of them. */
async function makeCrowd(dir: string): Promise<void> {
  const state = openEmbeddedState(dir);
  const names = Array.from({ length: crowdSize.accounts - 1 }, (_, index) => `account-${index}`);
  for (const name of [longName, ...names]) {
    await state.partnerAccounts.add(partnerAccount({ name }));
    await state.feedStates.register(feedState({ partnerAccount: name }));
  }
  for (let from = 0; from < crowdSize.deadLetters; from += atOnce) {
    const adverts = Array.from({ length: atOnce }, (_, index) => String(100_000 + from + index));
    const messages = adverts.map((advertId) => changedAdvert({ partnerAccount: 'account-7', advertId }));
    await state.queue.send(messages);
    const received = await state.queue.receive({ maxGroups: atOnce, maxPerGroup: 1, visibilityMs: 60_000 });
    const settlements = received.map((delivery) => {
      const { message } = delivery;
      if (!message) throw new Error('a message without content');
      const { partnerAccount: name, advertId } = message;
      const reason = Number(advertId) % 2 === 0 ? 'the answer has no status' : hostileText;
      const given = deadLetter({ partnerAccount: name, advertId, reason, message });
      return { delivery, verdict: { kind: 'dead-letter', deadLetter: given } as const };
    });
    await state.queue.settle(settlements);
  }
  state.close();
}

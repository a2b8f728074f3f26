import type { Browser } from 'playwright-core';
import type { Steps } from '../deploy/emulator/steps.ts';
import type { BridgeCommand } from './command.ts';
import { openConsole } from './console-page.ts';
import { checkLooks } from './page-checks.ts';

export interface DemoSurroundings {
  readonly steps: Steps;
  readonly browser: Browser;
  readonly bridge: BridgeCommand;
  readonly screenshots: string;
}

/** What can be broken in the demo, and what its page then says. */
const broken = [
  ['Process killed', /^Not running/],
  ['User revokes', /^1 needs attention/],
  ['Service down', /Waiting|need|fail/],
] as const;

/** The demo that `npm start` begins. */
export async function demoSteps({ steps, browser, bridge, screenshots }: DemoSurroundings): Promise<void> {
  await steps.check(
    'the demo prints the address of its console, which breaks and mends its bridge',
    async () => {
      const demo = await bridge.start(['demo'], /(http:\S+token=\S+)/);
      const { page, titleMatches, close } = await openConsole(browser, demo.printed);
      await page.getByRole('log').getByText('advert').first().waitFor();
      for (const [name, title] of broken) {
        await page.getByRole('button', { name }).click();
        await titleMatches(title);
        if (name === 'Service down') await checkLooks(page, screenshots, 'demo');
        await page.getByRole('button', { name, pressed: true }).click();
        await titleMatches(/^All well/);
      }
      await close();
      demo.kill('SIGTERM');
      await demo.ended;
    },
  );
}

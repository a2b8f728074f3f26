import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Deployment } from '../stack/deployment.ts';
import { historiesOf } from '../stack/histories.ts';
import { type Around, startConsole } from './console.ts';
import { deliver } from './delivery.ts';

interface Letter {
  readonly id: string;
  readonly advertId: string;
  readonly fault: string;
  readonly reason: string;
}

/** Five tries with backoff in between, each through queue and function. */
const givenUpMs = 150_000;

/** Shows, redrives and deletes dead letters with the command line and on a console. */
export async function letterSteps(deployment: Deployment, around: Around): Promise<void> {
  const { steps, advertBridge, sandbox, subscriber, say } = deployment;
  const { control } = sandbox;
  const [odd = '', other = ''] = control
    .truth()
    .slice(4, 6)
    .map(({ id }) => id);
  const statusesOf = (id: string) => historiesOf(subscriber.received).get(id);

  async function lettersOf(advertId: string): Promise<Letter[]> {
    const args = ['dead-letters', 'list', '--json'];
    const { stdout } = await advertBridge.run(args, undefined, [0, 3]);
    const { deadLetters } = JSON.parse(stdout) as { deadLetters: Letter[] };
    return deadLetters.filter((letter) => letter.advertId === advertId);
  }

  await steps.check(
    'an advert that cannot be read is given up with its reason, and delays no other',
    async () => {
      const fault = control.faults.add({ kind: 'wrong-shape', endpoint: 'advert', advertId: odd });
      control.setStatus(odd, 'limited');
      control.setStatus(other, 'limited');
      await deliver(deployment, 1);
      assert.deepEqual(statusesOf(other), ['limited']);

      const until = Date.now() + givenUpMs;
      let found = await lettersOf(odd);
      for (; found.length === 0 && Date.now() < until; found = await lettersOf(odd)) await sleep(2_000);
      const [letter, ...more] = found;
      assert.ok(letter && more.length === 0, 'exactly one dead letter of the advert');
      assert.equal(letter.fault, 'contract-broken');
      const { stdout } = await advertBridge.run(['dead-letters', 'show', letter.id]);
      say(stdout.trim());
      assert.match(stdout, /after 5 deliveries/);
      const asked = await advertBridge.run(['history', 'main', odd, '--json']);
      assert.equal(JSON.parse(asked.stdout).outcome, 'dead-lettered');
      control.faults.remove(fault);
    },
  );

  await steps.check(
    'a console pauses and resumes the account, redrives the dead letter, and its event comes',
    async () => {
      const page = await startConsole(around);
      await page.until('the dead letter is shown', ({ deadLetters }) => (deadLetters.main ?? 0) > 0);
      assert.equal((await page.act({ action: 'pause', name: 'main', reason: 'a look' })).state, 'done');
      await page.until(
        'the pause is shown',
        ({ facts }) => facts?.partnerAccounts[0]?.paused?.reason === 'a look',
      );
      assert.equal((await page.act({ action: 'resume', name: 'main' })).state, 'done');
      const { ids } = await page.letters(odd);
      assert.equal(ids.length, 1);
      assert.equal((await page.act({ action: 'redrive', ids })).state, 'done');
      await page.end();
      await deliver(deployment, 1);
      assert.deepEqual(statusesOf(odd), ['limited']);
      assert.deepEqual(await lettersOf(odd), []);
    },
  );

  await steps.check(
    'dead-letters drop throws away what nobody needs, and status is content again',
    async () => {
      const [malformed] = await lettersOf('../oauth/token');
      await advertBridge.run(['dead-letters', 'drop', malformed?.id ?? '', '--yes']);
      const { queue, exitCode } = await advertBridge.status();
      assert.equal(queue.deadLetters, 0);
      assert.equal(exitCode, 0);
    },
  );
}

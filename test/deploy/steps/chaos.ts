import assert from 'node:assert/strict';
import { seededRandom } from '../../../subscriber/testing/player.ts';
import { planOf, tally } from '../chaos/plan.ts';
import { rage } from '../chaos/run.ts';
import { setScene } from '../chaos/scene.ts';
import { settle } from '../chaos/settle.ts';
import { checkBooks, checkReceived, type Verdict } from '../chaos/verdict.ts';
import type { Options } from '../emulator/options.ts';
import type { Deployment } from '../stack/deployment.ts';
import { peekMessages } from '../stack/messages.ts';

const maxShown = 5;

/** Whatever happens to the functions, nothing is lost and every history is correct. */
export async function chaosSteps(deployment: Deployment, options: Options): Promise<void> {
  const { steps, say, cloud, outputs, advertBridge } = deployment;
  const { faults, changes, seed } = options;
  const random = seededRandom(seed);
  say(`chaos: seed ${seed}`);
  const judge = ({ faults: found, summary }: Verdict): void => {
    say(summary);
    if (found.length === 0) return;
    const shown = found.slice(0, maxShown).join('\n');
    throw new Error(`${found.length} faults:\n${shown}\n${onceMore(options)}`);
  };

  const scene = await steps.need('chaos: three partner accounts, short timeouts, two mappings', () =>
    setScene(deployment, random),
  );
  const deadLettersBefore = (await advertBridge.status()).queue.deadLetters;

  await steps.check(
    `chaos: ${faults} faults in invocations in progress, during ${changes} changes`,
    async () => {
      const plan = planOf(random, faults);
      const { hits, attempts } = await rage(scene, plan, changes);
      const wanted = tally(plan);
      const met = tally(hits);
      const tried = tally(attempts);
      for (const [name, count] of wanted) {
        say(`${met.get(name) ?? 0} of ${count} ${name}, in ${tried.get(name)} attempts`);
      }
      say(`${hits.length} hits in ${attempts.length} attempts, ${scene.weather.made()} changes`);
      const short = [...wanted].filter(([name, count]) => (met.get(name) ?? 0) < count);
      assert.deepEqual(short, [], `fewer hits than asked for. ${onceMore(options)}`);
    },
  );
  await steps.check('chaos: afterwards every feed is read to its end and the queue is empty', () =>
    settle(scene),
  );
  await steps.check('chaos: every history is right, and nothing is lost', async () =>
    judge(checkReceived(scene)),
  );
  await steps.check('chaos: cursors are stored, the books balance', async () =>
    judge(await checkBooks(scene, await advertBridge.status())),
  );
  await steps.check('chaos: nothing is dead-lettered', async () => {
    assert.equal((await advertBridge.status()).queue.deadLetters, deadLettersBefore);
    assert.deepEqual(await peekMessages(cloud.sqs, outputs.deadLetterQueueUrl), []);
  });
}

const onceMore = ({ faults, changes, seed }: Options): string =>
  `Once more: npm run test:deploy -- --only chaos --faults ${faults} --changes ${changes} --seed ${seed}`;

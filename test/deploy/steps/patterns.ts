import assert from 'node:assert/strict';
import { TestEventPatternCommand } from '@aws-sdk/client-eventbridge';
import fc from 'fast-check';
import { contradictionsOf, patternsOf } from '../../../infra/constructs/subscription/subscription-pattern.ts';
import { aFilter, anEvent, isWanted } from '../../helpers/subscriptions.ts';
import { awsAccount, region } from '../emulator/cloud.ts';
import type { Deployment } from '../stack/deployment.ts';

const pairs = 1000;

/** Compares the patterns with the emulator's independent interpretation. */
export async function patternSteps({ steps, cloud, say }: Deployment): Promise<void> {
  await steps.check(
    'the patterns of AdvertSubscription match what they should, by the emulator',
    async () => {
      const outside = { version: '0', id: '1', account: awsAccount, region };
      let wanted = 0;
      for (const [filter, event] of fc.sample(fc.tuple(aFilter, anEvent), { numRuns: pairs, seed: 1 })) {
        if (contradictionsOf(filter).length > 0) continue;
        const answers = await Promise.all(
          patternsOf(filter).map((pattern) =>
            cloud.eventBridge.send(
              new TestEventPatternCommand({
                EventPattern: JSON.stringify(pattern),
                Event: JSON.stringify({ ...outside, ...event }),
              }),
            ),
          ),
        );
        const matching = answers.filter(({ Result }) => Result).length;
        const expected = isWanted(filter, event) ? 1 : 0;
        assert.equal(matching, expected, `${JSON.stringify(filter)} of ${JSON.stringify(event)}`);
        wanted += expected;
      }
      say(`${pairs} filters with an event each, ${wanted} of them wanted`);
      assert.ok(wanted > 30, 'enough that match');
    },
  );
}

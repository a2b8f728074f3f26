import assert from 'node:assert/strict';
import type { Deployment } from '../stack/deployment.ts';
import { invoke } from '../stack/functions.ts';

/** Every quarter of an hour on the schedule: too seldom for this test. */
export async function auditSteps({ steps, cloud, outputs, say }: Deployment): Promise<void> {
  await steps.check(
    'the daily audit compares what was published, with its own role and no other',
    async () => {
      const { standing } = (await invoke(cloud, outputs.auditFunctionName)) as {
        readonly standing?: unknown;
      };
      assert.equal(typeof standing, 'number');
      say(`${standing} differences stand`);
    },
  );
}

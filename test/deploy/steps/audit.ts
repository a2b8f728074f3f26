import assert from 'node:assert/strict';
import type { Deployment } from '../stack/deployment.ts';
import { invoke } from '../stack/functions.ts';

/** Runs the audit, whose schedule of a quarter of an hour is too slow for this test. */
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

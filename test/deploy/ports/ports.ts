import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { repository } from '../emulator/cloud.ts';
import type { Deployment } from '../stack/deployment.ts';

/**
 * Runs the conformance suites of the ports on the AWS adapters, with real requests to the emulator's DynamoDB, SQS,
 * EventBridge and Secrets Manager; adds their tests to those of the run.
 *
 * @throws {Error} with vitest's output if one failed, or none was run
 */
export async function portConformance({ env, folder, processes, say, steps }: Deployment): Promise<void> {
  const outputFile = join(folder, 'ports.json');
  const config = join(import.meta.dirname, 'ports.config.ts');
  const reporters = ['--reporter=dot', '--reporter=json', `--outputFile.json=${outputFile}`];
  const args = ['node_modules/vitest/vitest.mjs', 'run', '--config', config, ...reporters];
  const command = { file: process.execPath, args, env, cwd: repository };
  await processes.run(command, { timeoutMs: 180_000 });
  const { numPassedTests, numPendingTests } = JSON.parse(await readFile(outputFile, 'utf8'));
  if (numPassedTests === 0) throw new Error('no port was tried');
  steps.passed += numPassedTests;
  say(`${numPassedTests} passed, ${numPendingTests} skipped (they need a clock of their own)`);
}

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { repository } from '../emulator/cloud.ts';
import type { Processes } from '../emulator/processes.ts';
import type { Counts } from '../emulator/steps.ts';

interface JsonReport {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numFailedTestSuites: number;
  readonly numPendingTests: number;
}

/**
 * Runs the conformance suites of the ports on the AWS adapters, with real requests to the emulator's DynamoDB, SQS,
 * EventBridge and Secrets Manager (ports-*.test.ts).
 *
 * @throws {Error} with vitest's output if no test could be run
 */
export async function portConformance(
  env: Record<string, string>,
  folder: string,
  processes: Processes,
  say: (line: string) => void,
): Promise<Counts> {
  const outputFile = join(folder, 'ports.json');
  const program = join(repository, 'node_modules', 'vitest', 'vitest.mjs');
  const config = join(import.meta.dirname, 'ports.config.ts');
  const reporters = ['--reporter=dot', '--reporter=json', `--outputFile.json=${outputFile}`];
  const args = [program, 'run', '--config', config, ...reporters];
  const { code, stdout, stderr } = await processes.run(
    { file: process.execPath, args, env, cwd: repository },
    { timeoutMs: 180_000 },
  );
  const text = await readFile(outputFile, 'utf8').catch(() => undefined);
  const report = text === undefined ? undefined : (JSON.parse(text) as JsonReport);
  if (code !== 0) say(`${stdout}${stderr}`.trim());
  if (!report || report.numPassedTests === 0) throw new Error(`no port was tried: vitest ended with ${code}`);
  const { numPassedTests: passed, numFailedTests, numPendingTests: skipped } = report;
  // A file that cannot be loaded has no failed tests.
  const failed = code !== 0 && numFailedTests === 0 ? 1 : numFailedTests;
  say(`${passed} passed, ${failed} failed, ${skipped} skipped (they need a clock of their own)`);
  return { passed, failed };
}

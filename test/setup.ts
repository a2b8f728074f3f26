/** Runs with each test file: test files of one process share their modules, and so what they have mocked. */
import fc from 'fast-check';
import { afterAll } from 'vitest';
import { restoreClients } from './helpers/aws/mock-client.ts';

afterAll(restoreClients);

fc.configureGlobal({
  // The same inputs each time; another seed, such as that of a run of .ci/run, tries others.
  seed: Number(process.env.PROPERTY_SEED ?? 20_261_120),
  reporter(run) {
    if (!run.failed) return;
    const repeat = `Repeat it: PROPERTY_SEED=${run.seed} npx vitest run FILE`;
    throw new Error(`${fc.defaultReportMessage(run)}\n${repeat}`, { cause: run.errorInstance });
  },
});

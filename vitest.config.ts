import { availableParallelism } from 'node:os';
import { configDefaults, defineConfig } from 'vitest/config';

/** A process for each: the others share their modules. */
const isolated = [
  // They are written as other teams write theirs, and leave AWS clients mocked.
  'docs/examples/*/test/**/*.test.ts',
  // They load the Lambda handlers, whose clients keep the addresses that the first of them read from the environment.
  'test/infra/iam/*.test.ts',
  'test/unit/shared/aws/{call-counts,many-partner-accounts}.test.ts',
  'test/unit/{golden/on-aws,bad-input/deployed}.test.ts',
  // It mocks the table of feeds, which the other files have loaded.
  'test/unit/functions/second-feed.test.ts',
];

/** `npm test` leaves it out, and .ci/run runs it: minutes of planted faults. */
const slow = ['test/simulation/planted/*.test.ts'];

export default defineConfig({
  // Our own `exports`, in the source: the snippets of the docs import the package by its name.
  ssr: { resolve: { conditions: ['advert-bridge-source', 'node', 'development|production'] } },
  // The examples are packages of their own, and import ours by their names.
  resolve: {
    alias: {
      'advert-bridge/cdk': new URL('infra/cdk.ts', import.meta.url).pathname,
      'advert-bridge-kit/cdk': new URL('infra/constructs/subscription/index.ts', import.meta.url).pathname,
      'advert-bridge-kit/subscriber': new URL('kits/typescript/index.ts', import.meta.url).pathname,
      'advert-bridge-kit/testing': new URL('kits/typescript/testing/index.ts', import.meta.url).pathname,
    },
  },
  test: {
    // Ends what hangs. No test takes a second on a quiet machine, but ten of them side by side may on a busy one.
    testTimeout: 30_000,
    hookTimeout: 60_000,
    unstubEnvs: true,
    restoreMocks: true,
    setupFiles: ['test/setup.ts'],
    // Vitest would leave one core to itself, which on two cores leaves one.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    // The CDK starts a validator of 9 MB with each synth, a second of work; `npm run synth` has it, and shows what it finds.
    // The lowest Node in package.json (Apple silicon) warns of what Node 24 has settled since.
    env: { CDK_VALIDATION: 'false', NODE_OPTIONS: '--disable-warning=ExperimentalWarning' },
    projects: [
      {
        extends: true,
        // One process for many files, which share their modules: the SDK, the CDK and ours are loaded once, not 170 times.
        test: {
          name: 'shared',
          include: [
            'test/{unit,ports,infra,docs,released}/**/*.test.ts',
            'test/*.test.ts',
            'test/simulation/*.test.ts',
          ],
          exclude: [...configDefaults.exclude, ...isolated, ...slow],
          isolate: false,
        },
      },
      { extends: true, test: { name: 'isolated', include: isolated } },
      { extends: true, test: { name: 'slow', include: slow } },
      // AWS's client for Python and its models are the reference here: `npm run test:botocore`.
      { extends: true, test: { name: 'botocore', include: ['test/botocore/*.test.ts'] } },
    ],
  },
});

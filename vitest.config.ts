import { configDefaults, defineConfig } from 'vitest/config';

/** They change what all files of a process share: clients of AWS, modules, the environment, what is printed. */
const alone = [
  'test/unit/{aws,cli,embedded,no-leak,runtime}/**/*.test.ts',
  // Moves the clock of the handlers on.
  'test/infra/iam/*.test.ts',
  'test/ports/*.aws.test.ts',
  'examples/*/test/**/*.test.ts',
];

export default defineConfig({
  // Our own `exports`, in the source: the snippets of the docs import the package by its name.
  ssr: { resolve: { conditions: ['advert-bridge-source', 'node', 'development|production'] } },
  // The example is a package of its own, and imports this one by its name.
  resolve: {
    alias: {
      'advert-bridge/cdk': new URL('infra/cdk.ts', import.meta.url).pathname,
      'advert-bridge/subscriber': new URL('subscriber/index.ts', import.meta.url).pathname,
    },
  },
  test: {
    // Ends what hangs. No test takes a second on a quiet machine, but ten of them side by side may on a busy one.
    testTimeout: 30_000,
    hookTimeout: 60_000,
    unstubEnvs: true,
    restoreMocks: true,
    projects: [
      {
        extends: true,
        // One process for many files, each with modules of its own: packages are loaded once, not 70 times.
        test: {
          name: 'shared',
          include: ['test/{unit,ports,infra,docs}/**/*.test.ts', 'test/*.test.ts'],
          exclude: [...configDefaults.exclude, ...alone],
          isolate: false,
        },
      },
      { extends: true, test: { name: 'alone', include: alone } },
      { extends: true, test: { name: 'simulation', include: ['test/simulation/*.test.ts'] } },
    ],
  },
});

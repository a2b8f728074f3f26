import { defineConfig } from 'vitest/config';

/** The tests that `npm run mutate` tries each change with: those that run in one process and are quick. */
export default defineConfig({
  ssr: { resolve: { conditions: ['advert-bridge-source', 'node', 'development|production'] } },
  test: {
    include: [
      'test/unit/{functions,shared,embedded,bad-input,operators/operations}/**/*.test.ts',
      'test/ports/*.test.ts',
    ],
    exclude: ['**/aws/{call-counts,many-partner-accounts}.test.ts'],
    unstubEnvs: true,
    restoreMocks: true,
    silent: true,
    // As in vitest.config.ts: a busy machine must not make a test fail.
    testTimeout: 30_000,
    hookTimeout: 60_000,
    setupFiles: ['test/setup.ts'],
  },
});

import { configDefaults, defineConfig } from 'vitest/config';

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
    include: [
      'test/{unit,ports,infra,docs,simulation}/**/*.test.ts',
      'test/*.test.ts',
      'examples/*/test/**/*.test.ts',
    ],
    exclude: [...configDefaults.exclude, 'cdk.out/**'],
    // Ends what hangs. No test takes a second on a quiet machine, but ten of them side by side may on a busy one.
    testTimeout: 30_000,
    hookTimeout: 60_000,
    unstubEnvs: true,
    restoreMocks: true,
  },
});

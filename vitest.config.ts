import { configDefaults, defineConfig } from 'vitest/config';

export default defineConfig({
  // Our own `exports`, in the source: the snippets of the docs import the package by its name.
  ssr: { resolve: { conditions: ['advert-bridge-source', 'node', 'development|production'] } },
  test: {
    include: ['test/{unit,ports,infra,docs,simulation}/**/*.test.ts', 'test/*.test.ts'],
    exclude: [...configDefaults.exclude, 'cdk.out/**'],
    unstubEnvs: true,
    restoreMocks: true,
  },
});

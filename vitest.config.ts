import { configDefaults, defineConfig } from 'vitest/config';

export default defineConfig({
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
    unstubEnvs: true,
    restoreMocks: true,
  },
});

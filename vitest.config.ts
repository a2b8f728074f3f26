import { configDefaults, defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/{unit,ports,infra,docs,simulation}/**/*.test.ts', 'test/*.test.ts'],
    exclude: [...configDefaults.exclude, 'cdk.out/**'],
    unstubEnvs: true,
    restoreMocks: true,
  },
});

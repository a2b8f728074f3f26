import { defineConfig } from 'vitest/config';

// biome-ignore lint/style/noDefaultExport: vitest asks for one
export default defineConfig({
  test: {
    include: ['test/deploy/ports/*.test.ts'],
    // The emulator answers in milliseconds, and a page of 1,000 messages takes a hundred calls.
    testTimeout: 30_000,
    restoreMocks: true,
  },
});

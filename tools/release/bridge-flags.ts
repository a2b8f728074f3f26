import packageJson from '../../package.json' with { type: 'json' };

/** The Node options of `npm run bridge`, so that other ways to start the command line use the same heap limits. */
export const bridgeFlags: readonly string[] = packageJson.scripts.bridge
  .split(' ')
  .filter((word) => word.startsWith('--'));

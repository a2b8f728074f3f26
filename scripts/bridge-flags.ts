import packageJson from '../package.json' with { type: 'json' };

/** Options of Node with which `npm run bridge` starts the command line: what starts it otherwise has the same heap. */
export const bridgeFlags: readonly string[] = packageJson.scripts.bridge
  .split(' ')
  .filter((word) => word.startsWith('--'));

import { check, fault, ok, warning } from '../../../../operations/doctor.ts';
import { quoted } from '../../../../shared/domain/text/printable.ts';

/** The version with `node:sqlite` without a flag, as cli/advert-bridge.cjs requires. */
const oldest = [22, 13] as const;
/** Not `npx … npx …`: an inner npx would use the package of the outer one. */
const newer = () =>
  `Install a newer Node, or run the command with one: \`npx -p node@24 -- node ${quoted(process.argv[1] ?? '')} …\``;

/** @param version such as `24.21.0` */
export const nodeCheck = (version: string) =>
  check('node', async () => {
    const [major = 0, minor = 0] = version.split('.').map(Number);
    if (major < oldest[0] || (major === oldest[0] && minor < oldest[1])) {
      return fault(`an embedded bridge needs Node ${oldest.join('.')} or later; this is ${version}`, newer());
    }
    // Only even releases get security fixes for longer than half a year.
    if (major % 2 === 1) return warning(`Node ${version} gets fixes for half a year only`, newer());
    return ok(`Node ${version}`);
  });

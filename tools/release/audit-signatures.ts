/**
 * Checks that each installed package is signed by the registry that it came from (`npm audit signatures`). If the
 * registry or its keys cannot be reached, for example offline or behind a mirror, the script reports that it could
 * not check and does not fail.
 *
 *     npm run signatures
 *
 * @see https://docs.npmjs.com/verifying-registry-signatures
 */
import { spawnSync } from 'node:child_process';
import * as v from 'valibot';

const flagged = v.array(v.looseObject({ name: v.string(), version: v.string() }));
const answer = v.union([
  v.object({ invalid: flagged, missing: flagged }),
  v.object({ error: v.object({ code: v.nullish(v.string()), summary: v.string() }) }),
]);

export interface Verdict {
  readonly kind: 'verified' | 'refused' | 'left out';
  readonly says: string;
}

/** @param stdout output of `npm audit signatures --json`; empty when the process was terminated */
export function verdictOf(stdout: string): Verdict {
  const parsed = v.safeParse(v.pipe(v.string(), v.parseJson(), answer), stdout);
  if (!parsed.success) return { kind: 'left out', says: 'npm gave no answer' };
  if ('error' in parsed.output) {
    const { code, summary } = parsed.output.error;
    return { kind: 'left out', says: code ? `${code}: ${summary}` : summary };
  }
  const { invalid, missing } = parsed.output;
  const named = (packages: typeof invalid) => packages.map(({ name, version }) => `${name}@${version}`);
  const says = [
    ...named(invalid).map((each) => `${each}: its signature or attestation is wrong`),
    ...named(missing).map((each) => `${each}: it has no signature, and the registry has keys`),
  ];
  if (says.length > 0) return { kind: 'refused', says: says.join('\n') };
  return { kind: 'verified', says: 'every installed package is signed by its registry' };
}

if (import.meta.main) {
  const args = ['audit', 'signatures', '--json', '--fetch-retries=1', '--fetch-timeout=30000'];
  const { stdout } = spawnSync('npm', args, { encoding: 'utf8', timeout: 150_000 });
  const { kind, says } = verdictOf(stdout);
  console.log(kind === 'left out' ? `LEFT OUT: ${says}` : says);
  process.exitCode = kind === 'refused' ? 1 : 0;
}

import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { resolve } from 'node:path';
import { quoted } from '../../../shared/domain/text.ts';

interface FaultOfProfile {
  readonly code: 'no-profile' | 'profile-program' | 'profile-empty';
  readonly facts: Readonly<Record<'profile' | 'quotedProfile', string>>;
}

/**
 * What is wrong with the AWS profile of this process. The SDK says the same of a profile that does not exist, of one
 * without credentials and of one whose program failed, so its files are read here.
 *
 * @param code what the SDK says
 * @returns `undefined` if the profile is not to blame
 */
export function faultOfProfile(code: string): FaultOfProfile | undefined {
  if (code !== 'no-credentials' && code !== 'no-region') return undefined;
  const { AWS_PROFILE, AWS_CONFIG_FILE, AWS_SHARED_CREDENTIALS_FILE } = process.env;
  const profile = AWS_PROFILE || 'default';
  const sections = [
    ...sectionsIn(AWS_CONFIG_FILE || '.aws/config'),
    ...sectionsIn(AWS_SHARED_CREDENTIALS_FILE || '.aws/credentials'),
  ].filter((section) => section.startsWith(`${profile}]`));
  const facts = { profile, quotedProfile: quoted(profile) };
  if (AWS_PROFILE && sections.length === 0) return { code: 'no-profile', facts };
  if (code === 'no-region') return undefined;
  if (sections.some((section) => /^\s*credential_process\s*=/m.test(section)))
    return { code: 'profile-program', facts };
  return AWS_PROFILE ? { code: 'profile-empty', facts } : undefined;
}

/** Each begins with its name, which may be in quotes in the file, and a bracket. */
function sectionsIn(file: string): readonly string[] {
  try {
    const text = readFileSync(resolve(homedir(), file), 'utf8');
    return text.replaceAll(/["']/g, '').split(/^\s*\[(?:profile\s+)?/m);
  } catch {
    return [];
  }
}

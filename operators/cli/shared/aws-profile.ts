import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { resolve } from 'node:path';
import { quoted } from '../../../shared/domain/text.ts';
import type { Problem } from '../../operations/errors.ts';

/**
 * What is wrong with the AWS profile of this process. The SDK says the same of a profile that does not exist, of one
 * without credentials and of one whose program failed, so its files are read here.
 *
 * @param lacks what the SDK did not find
 * @returns `undefined` if the profile is not to blame
 */
export function faultOfProfile(lacks: 'region' | 'credentials'): Problem | undefined {
  const { AWS_PROFILE, AWS_CONFIG_FILE, AWS_SHARED_CREDENTIALS_FILE } = process.env;
  const profile = AWS_PROFILE || 'default';
  const sections = [
    ...sectionsIn(AWS_CONFIG_FILE || '.aws/config'),
    ...sectionsIn(AWS_SHARED_CREDENTIALS_FILE || '.aws/credentials'),
  ].filter((section) => section.startsWith(`${profile}]`));
  if (AWS_PROFILE && sections.length === 0)
    return [`there is no AWS profile ${profile}`, 'Set AWS_PROFILE to one of `aws configure list-profiles`'];
  if (lacks === 'region') return undefined;
  if (sections.some((section) => /^\s*credential_process\s*=/m.test(section)))
    return [
      `the credential_process of the AWS profile ${profile} failed`,
      `\`aws sts get-caller-identity --profile ${quoted(profile)}\` shows why`,
    ];
  return AWS_PROFILE
    ? [`the AWS profile ${profile} has no credentials`, 'Sign in with it, or set another AWS_PROFILE']
    : undefined;
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

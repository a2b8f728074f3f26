/**
 * Synthesizes the stack for AWS, for AWS with every option, and for the emulator, and fails on any message of the
 * CDK: errors, warnings, findings of cdk-nag. Also fails when a Lambda bundle exceeds its size budget
 * (size-budgets.ts). If cfn-lint is installed (pip install cfn-lint), it checks the templates too.
 *
 *     node scripts/synth-check.ts
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stackName } from '../shared/contract/names.ts';
import { bundleHandler, stages } from './bundle-handlers.ts';
import { maxKb } from './size-budgets.ts';

const repository = join(import.meta.dirname, '..');
const worlds: Record<string, readonly string[]> = {
  aws: [],
  'aws, every option': [
    'alarmEmail=team@example.com',
    'alarmTopicArn=arn:aws:sns:eu-central-1:111111111111:pager',
    'dashboard=true',
    'subscriberAccounts=111111111111,222222222222',
    'organizationId=o-a1b2c3d4e5',
    'acceptLanguage=pl',
    'auditSample=299',
  ],
  emulator: ['target=emulator'],
};
/** Normal output of the CDK and of npm. */
const harmless = /^(Bundling asset .*|npm warn .*|\s*)$/;

function run(file: string, ...args: string[]): { status: number | null; said: string } | undefined {
  const { error, status, stdout, stderr } = spawnSync(file, args, { cwd: repository, encoding: 'utf8' });
  if (error) return undefined;
  const said = `${stdout}${stderr}`.split('\n').filter((line) => !harmless.test(line));
  return { status, said: said.join('\n') };
}

/** Names the Lambda bundles that are too large. */
async function bundleSizes(): Promise<{ status: number; said: string }> {
  const large: string[] = [];
  for (const stage of stages) {
    const [bundle] = (await bundleHandler(stage)).outputFiles.filter(({ path }) => path.endsWith('.mjs'));
    const kb = Math.round((bundle?.contents.length ?? Number.NaN) / 1000);
    if (!(kb <= maxKb.bundle)) large.push(`${stage}: ${kb} KB, it may have ${maxKb.bundle}`);
  }
  return { status: 0, said: large.join('\n') };
}

function check(what: string, result: ReturnType<typeof run>): void {
  if (result === undefined) {
    console.log(`skip  ${what}: not installed`);
    return;
  }
  const clean = result.status === 0 && result.said === '';
  console.log(`${clean ? 'pass' : 'FAIL'}  ${what}${clean ? '' : `\n${result.said}`}`);
  if (!clean) process.exitCode = 1;
}

const output = mkdtempSync(join(tmpdir(), 'synth-check-'));
try {
  for (const [world, settings] of Object.entries(worlds)) {
    const all = ['partnerBaseUrl=https://partner.example', ...settings].flatMap((setting) => ['-c', setting]);
    const cdk = join(repository, 'node_modules/aws-cdk/bin/cdk');
    check(`cdk synth: ${world}`, run(process.execPath, cdk, 'synth', '--quiet', '-o', output, ...all));
    check(
      `cfn-lint: ${world}`,
      run('cfn-lint', '-r', 'eu-central-1', '--', join(output, `${stackName}.template.json`)),
    );
  }
  check('size of the bundles', await bundleSizes());
} finally {
  rmSync(output, { recursive: true, force: true });
}

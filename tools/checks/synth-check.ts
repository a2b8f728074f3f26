/**
 * Synthesizes the stack for AWS, for AWS with every option, and for the emulator, and fails on any message of the
 * CDK: errors, warnings, findings of cdk-nag. Also fails when a Lambda bundle exceeds its size budget
 * (size-budgets.ts). If cfn-lint is installed (pip install cfn-lint==1.58.0; older ones know less of the regions), it
 * checks the templates too, for each region.
 *
 *     node tools/checks/synth-check.ts
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { regionsWithCustomBus } from '../../infra/constructs/custom-event-bus.ts';
import { regionsWithoutRegistry } from '../../infra/constructs/schema-registry.ts';
import { stackName } from '../../shared/contract/names.ts';
import { bundleHandler, stages } from '../release/bundle-handlers.ts';
import { maxKb } from '../release/size-budgets.ts';

const repository = join(import.meta.dirname, '../..');
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
    'schemaRegistry=false',
  ],
  'aws, the Custom Event Bus': ['eventBuses=custom,classic', 'subscriberAccounts=111111111111'],
  emulator: ['target=emulator'],
};
/** All whose resource types cfn-lint knows. It takes those of the isolated partitions from us-east-1. */
const regions = [
  ...['af-south-1', 'ap-east-1', 'ap-east-2', 'ap-northeast-1', 'ap-northeast-2', 'ap-northeast-3'],
  ...['ap-south-1', 'ap-south-2', 'ap-southeast-1', 'ap-southeast-2', 'ap-southeast-3', 'ap-southeast-4'],
  ...['ap-southeast-5', 'ap-southeast-6', 'ap-southeast-7', 'ca-central-1', 'ca-west-1', 'cn-north-1'],
  ...[
    'cn-northwest-1',
    'eu-central-1',
    'eu-central-2',
    'eu-north-1',
    'eu-south-1',
    'eu-south-2',
    'eu-west-1',
  ],
  ...['eu-west-2', 'eu-west-3', 'il-central-1', 'me-central-1', 'me-south-1', 'mx-central-1', 'sa-east-1'],
  ...['us-east-1', 'us-east-2', 'us-gov-east-1', 'us-gov-west-1', 'us-west-1', 'us-west-2'],
];
const withRegistry = regions.filter((region) => !regionsWithoutRegistry.includes(region));
function regionsFor(settings: readonly string[]): readonly string[] {
  const here = settings.includes('schemaRegistry=false') ? regions : withRegistry;
  const isCustom = settings.some((setting) => /^eventBuses=.*custom/.test(setting));
  return isCustom ? here.filter((region) => regionsWithCustomBus.includes(region)) : here;
}
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
    const of = regionsFor(settings);
    const template = join(output, `${stackName}.template.json`);
    check(`cfn-lint: ${world}, ${of.length} regions`, run('cfn-lint', '-r', ...of, '--', template));
  }
  check('size of the bundles', await bundleSizes());
} finally {
  rmSync(output, { recursive: true, force: true });
}

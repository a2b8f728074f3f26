import { mkdir, readdir, rename, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { repository } from '../emulator/cloud.ts';
import { deployApp, type Values } from './cdk.ts';
import type { Deployment } from './deployment.ts';

/**
 * A stack of another team with two bridges, the second one with the team's own KMS key and network, and a subscription
 * whose target is a function that fails. The addresses of the services are known only when the test runs.
 */
const app = `import { AdvertBridge } from 'advert-bridge/cdk';
import { App, CfnOutput, Stack, Tags } from 'aws-cdk-lib';
import { SubnetType, Vpc } from 'aws-cdk-lib/aws-ec2';
import { Key } from 'aws-cdk-lib/aws-kms';
import { Code, Function, Runtime } from 'aws-cdk-lib/aws-lambda';

const [first, second] = process.env.SERVICES.split(' ');
const stack = new Stack(new App(), 'Shop');
Tags.of(stack).add('cost-center', '42');
const fast = { target: 'emulator', maxRequestsPerSecond: 50, confirmUnavailableSeconds: 1 };
const bridge = new AdvertBridge(stack, 'First', { ...fast, partnerBaseUrl: first, busName: 'first' });
const encryptionKey = new Key(stack, 'Key');
new CfnOutput(stack, 'KeyArn', { value: encryptionKey.keyArn });
const own = {
  encryptionKey,
  // The emulator has no NAT gateways.
  vpc: new Vpc(stack, 'Network', {
    natGateways: 0,
    subnetConfiguration: [{ name: 'Own', subnetType: SubnetType.PRIVATE_WITH_EGRESS }],
  }),
};
new AdvertBridge(stack, 'Second', { ...fast, ...own, partnerBaseUrl: second, name: 'Second', busName: 'second' });
const target = new Function(stack, 'Target', {
  runtime: Runtime.NODEJS_24_X,
  handler: 'index.handler',
  code: Code.fromInline("exports.handler = async () => { throw new Error('it is broken') }"),
  retryAttempts: 1,
});
const { deadLetters } = bridge.subscribe(stack, 'Search', { target });
new CfnOutput(stack, 'TargetName', { value: target.functionName });
new CfnOutput(stack, 'TargetDeadLetterQueueUrl', { value: deadLetters.queueUrl });
`;

/**
 * Deploys a CDK app of ten lines from a folder that contains only the packed package, not the repository.
 *
 * @param services addresses of the partner services of its two bridges
 * @returns the outputs of its stack
 */
export async function deployShop(
  { env, folder, processes }: Pick<Deployment, 'env' | 'folder' | 'processes'>,
  services: readonly string[],
): Promise<Values> {
  const shop = join(folder, 'shop');
  const modules = join(shop, 'node_modules');
  await mkdir(modules, { recursive: true });
  const run = (cwd: string, file: string, ...args: string[]) =>
    processes.run({ file, args, env, cwd }, { timeoutMs: 240_000 });
  await run(repository, 'npm', 'pack', '--silent', '--pack-destination', shop);
  const tarball = (await readdir(shop)).find((name) => name.endsWith('.tgz')) ?? '';
  await run(shop, 'tar', '-xzf', tarball);
  await rename(join(shop, 'package'), join(modules, 'advert-bridge'));
  // What `npm install` would install; esbuild and the bridge's sources are not part of it.
  for (const name of ['aws-cdk-lib', 'constructs', 'valibot']) {
    await symlink(join(repository, 'node_modules', name), join(modules, name));
  }
  await writeFile(join(shop, 'app.mjs'), app);
  const around = { env: { ...env, SERVICES: services.join(' ') }, processes };
  return (await deployApp(around, shop, '--app', 'node app.mjs')).Shop ?? {};
}

import { mkdir, readdir, readFile, rename, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { repository } from '../emulator/cloud.ts';
import type { Processes } from '../emulator/processes.ts';

const timeoutMs = 240_000;

/**
 * A stack of another team with two bridges, the second one with the team's own KMS key and network. The addresses of
 * their services are known only when the test runs.
 */
const app = `import { AdvertBridge } from 'advert-bridge/cdk';
import { App, CfnOutput, Stack } from 'aws-cdk-lib';
import { SubnetType, Vpc } from 'aws-cdk-lib/aws-ec2';
import { Key } from 'aws-cdk-lib/aws-kms';

const [first, second] = process.env.SERVICES.split(' ');
const stack = new Stack(new App(), 'Shop');
const fast = { target: 'emulator', maxRequestsPerSecond: 50, confirmUnavailableSeconds: 1 };
new AdvertBridge(stack, 'First', { ...fast, partnerBaseUrl: first, busName: 'first' });
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
`;

/**
 * Deploys a CDK app of ten lines from a folder that contains only the packed package, not the repository.
 *
 * @param services addresses of the partner services of its two bridges
 * @returns the outputs of its stack
 */
export async function deployShop(
  services: readonly [string, string],
  env: Record<string, string>,
  folder: string,
  processes: Processes,
): Promise<Record<string, string>> {
  const shop = join(folder, 'shop');
  const modules = join(shop, 'node_modules');
  await mkdir(modules, { recursive: true });
  const run = async (cwd: string, more: Record<string, string>, file: string, ...args: string[]) => {
    const command = { file, args, env: { ...env, ...more }, cwd };
    const { code, stdout, stderr } = await processes.run(command, { timeoutMs });
    if (code !== 0) throw new Error(`${file} ${args[0]} ended with ${code}\n${stdout}${stderr}`.trim());
  };
  await run(repository, {}, 'npm', 'pack', '--silent', '--pack-destination', shop);
  const tarball = (await readdir(shop)).find((name) => name.endsWith('.tgz')) ?? '';
  await run(shop, {}, 'tar', '-xzf', tarball);
  await rename(join(shop, 'package'), join(modules, 'advert-bridge'));
  // What `npm install` would install; esbuild and the bridge's sources are not part of it.
  for (const name of ['aws-cdk-lib', 'constructs', 'valibot']) {
    await symlink(join(repository, 'node_modules', name), join(modules, name));
  }
  await writeFile(join(shop, 'app.mjs'), app);
  const outputsFile = join(shop, 'outputs.json');
  const cdk = join(repository, 'node_modules/aws-cdk/bin/cdk');
  const options = ['--app', 'node app.mjs', '--require-approval', 'never', '--no-notices'];
  const addresses = { SERVICES: services.join(' ') };
  await run(shop, addresses, process.execPath, cdk, 'deploy', ...options, '--outputs-file', outputsFile);
  return JSON.parse(await readFile(outputsFile, 'utf8')).Shop;
}

import { cp, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { repository } from '../emulator/cloud.ts';
import type { Processes } from '../emulator/processes.ts';
import type { Outputs } from './cdk.ts';

/** The same as for the bridge's own deployment. */
const timeoutMs = 240_000;

/**
 * Deploys a folder of examples/ as the other team would: from a separate folder, in which the example and its
 * dependencies are installed.
 *
 * @returns the outputs of its stacks, by stack
 */
export async function deployExample(
  name: string,
  bridge: Outputs,
  env: Record<string, string>,
  folder: string,
  processes: Processes,
): Promise<Record<string, unknown>> {
  const app = join(folder, name);
  await cp(join(repository, 'examples', name), app, { recursive: true });
  await linkPackages(app);
  const outputsFile = join(app, 'outputs.json');
  const cdk = join(repository, 'node_modules', 'aws-cdk', 'bin', 'cdk');
  const settings = ['-c', `busName=${bridge.eventBusName}`, '--outputs-file', outputsFile];
  const command = {
    file: process.execPath,
    args: [cdk, 'deploy', '--require-approval', 'never', '--no-notices', ...settings],
    env,
    cwd: app,
  };
  const { code, stdout, stderr } = await processes.run(command, { timeoutMs });
  if (code !== 0) throw new Error(`cdk deploy of the example ended with ${code}\n${stdout}${stderr}`.trim());
  return JSON.parse(await readFile(outputsFile, 'utf8'));
}

/** Does what `npm install` does, without downloads. */
async function linkPackages(app: string): Promise<void> {
  const installed = join(repository, 'node_modules');
  const modules = join(app, 'node_modules');
  await mkdir(modules);
  for (const name of await readdir(installed)) await symlink(join(installed, name), join(modules, name));
  // The kit, created from the repository's sources instead of the build.
  const kit = join(modules, 'advert-bridge-kit');
  await mkdir(kit);
  await symlink(repository, join(kit, 'source'));
  const entryPoints = {
    './cdk': './source/infra/constructs/subscription/index.ts',
    './subscriber': './source/subscriber/index.ts',
  };
  await writeFile(join(kit, 'package.json'), JSON.stringify({ type: 'module', exports: entryPoints }));
  await writeFile(join(app, 'package-lock.json'), '{}');
}

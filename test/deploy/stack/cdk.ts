import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { outputs, stackName } from '../../../shared/contract/names.ts';
import { awsAccount, repository } from '../emulator/cloud.ts';
import type { Processes } from '../emulator/processes.ts';

export type Outputs = Readonly<Record<keyof typeof outputs, string>>;

export interface Cdk {
  bootstrap(): Promise<void>;
  /** @param settings the complete CDK context of the deployment */
  deploy(settings: Readonly<Record<string, string>>): Promise<Outputs>;
  /** @param settings as for the last deployment: the app is synthesized to find the stack */
  destroy(settings: Readonly<Record<string, string>>): Promise<void>;
  /** The last deployed template. */
  template(): Promise<Template>;
  /**
   * A shell script that replaces `npx`: it runs the arguments that a page gives after `npx cdk`, with these settings
   * instead of the page's.
   */
  asTyped(settings: Readonly<Record<string, string>>): string;
}

export interface Template {
  readonly Resources: Readonly<
    Record<
      string,
      {
        readonly Type: string;
        readonly Properties?: Readonly<Record<string, unknown>>;
        readonly DeletionPolicy?: string;
      }
    >
  >;
}

/** The CLI needs seconds; on a busy machine, it may need much longer. */
const timeoutMs = 240_000;

/**
 * The real CDK command line, used with the emulator.
 *
 * @param sources sources of the stack to deploy. Default: this repository
 */
export function cdkOn(
  env: Record<string, string>,
  folder: string,
  processes: Processes,
  sources: string = repository,
): Cdk {
  const output = join(folder, 'cdk.out');
  const outputsFile = join(folder, 'outputs.json');
  const program = join(repository, 'node_modules', 'aws-cdk', 'bin', 'cdk');

  async function cdk(cwd: string, ...args: string[]): Promise<void> {
    const command = { file: process.execPath, args: [program, ...args, '--no-notices'], env, cwd };
    const { code, stdout, stderr } = await processes.run(command, { timeoutMs });
    if (code !== 0) throw new Error(`cdk ${args[0]} ended with ${code}\n${stdout}${stderr}`.trim());
  }

  return {
    // Not in the folder of cdk.json, where the app would be synthesized unnecessarily.
    bootstrap: () => cdk(folder, 'bootstrap', `aws://${awsAccount}/${env.AWS_REGION}`),

    async deploy(settings) {
      const flags = ['--require-approval', 'never', '--output', output, '--outputs-file', outputsFile];
      await cdk(sources, 'deploy', stackName, ...flags, ...contextOf(settings));
      const written = JSON.parse(await readFile(outputsFile, 'utf8'))[stackName] ?? {};
      const missing = Object.values(outputs).filter((name) => !written[name]);
      // Other versions may have other outputs.
      if (missing.length > 0 && sources === repository)
        throw new Error(`the stack has no output ${missing.join(', ')}`);
      const byKey = Object.entries(outputs).map(([key, name]) => [key, written[name]]);
      return Object.fromEntries(byKey) as Outputs;
    },

    destroy: (settings) =>
      cdk(sources, 'destroy', stackName, '--force', '--output', output, ...contextOf(settings)),

    asTyped(settings) {
      const flags = [
        '--require-approval',
        'never',
        '--no-notices',
        '--output',
        output,
        ...contextOf(settings),
      ];
      const words = (all: readonly string[]) => all.map((word) => `'${word}'`).join(' ');
      return `shift\ncd '${sources}' && exec ${words([process.execPath, program])} "$@" ${words([stackName, ...flags])}`;
    },

    template: async () => JSON.parse(await readFile(join(output, `${stackName}.template.json`), 'utf8')),
  };
}

const contextOf = (settings: Readonly<Record<string, string>>): string[] =>
  Object.entries(settings).flatMap(([key, value]) => ['-c', `${key}=${value}`]);

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { outputs, stackName } from '../../../shared/contract/names.ts';
import { awsAccount, repository } from '../emulator/cloud.ts';
import type { Processes } from '../emulator/processes.ts';

export type Values = Readonly<Record<string, string>>;
export type Outputs = Readonly<Record<keyof typeof outputs, string>>;
export type Cdk = ReturnType<typeof cdkOn>;

const program = join(repository, 'node_modules', 'aws-cdk', 'bin', 'cdk');
const contextOf = (settings: Values): string[] =>
  Object.entries(settings).flatMap(([key, value]) => ['-c', `${key}=${value}`]);

/** Runs the real CDK command line. It needs seconds; on a busy machine, it may need much longer. */
const runCdk = (
  { env, processes }: { readonly env: Values; readonly processes: Processes },
  cwd: string,
  ...args: readonly string[]
) =>
  processes.run(
    { file: process.execPath, args: [program, ...args, '--no-notices'], env, cwd },
    { timeoutMs: 240_000 },
  );

/** Deploys an app of another team. @returns the outputs of its stacks, by stack */
export async function deployApp(
  around: { readonly env: Values; readonly processes: Processes },
  folder: string,
  ...args: readonly string[]
): Promise<Record<string, Values>> {
  const outputsFile = join(folder, 'outputs.json');
  await runCdk(
    around,
    folder,
    'deploy',
    ...args,
    '--require-approval',
    'never',
    '--outputs-file',
    outputsFile,
  );
  return JSON.parse(await readFile(outputsFile, 'utf8'));
}

/**
 * The bridge's own stack.
 *
 * @param sources of the stack to deploy
 */
export function cdkOn(env: Values, folder: string, processes: Processes, sources = repository) {
  const around = { env, processes };
  const output = join(folder, 'cdk.out');
  const outputsFile = join(folder, 'outputs.json');
  const flags = ['--require-approval', 'never', '--output', output];
  return {
    // Not in the folder of cdk.json, where the app would be synthesized unnecessarily.
    bootstrap: () => runCdk(around, folder, 'bootstrap', `aws://${awsAccount}/${env.AWS_REGION}`),

    /** @param settings the complete CDK context */
    async deploy(settings: Values): Promise<Outputs> {
      const args = [...flags, '--outputs-file', outputsFile, ...contextOf(settings)];
      await runCdk(around, sources, 'deploy', stackName, ...args);
      const written = JSON.parse(await readFile(outputsFile, 'utf8'))[stackName] ?? {};
      // The emulator has no Custom Event Bus.
      const missing = Object.values(outputs).filter(
        (name) => !written[name] && name !== outputs.customEventBusArn,
      );
      if (missing.length > 0) throw new Error(`the stack has no output ${missing.join(', ')}`);
      const byKey = Object.entries(outputs).map(([key, name]) => [key, written[name]]);
      return Object.fromEntries(byKey) as Outputs;
    },

    /** @param settings as for the last deployment: the app is synthesized to find the stack */
    destroy: (settings: Values) =>
      runCdk(around, sources, 'destroy', stackName, '--force', '--output', output, ...contextOf(settings)),

    /**
     * A shell script that replaces `npx`: it runs the arguments that a page gives after `npx cdk`, with these settings
     * instead of the page's.
     */
    asTyped(settings: Values): string {
      const quoted = (...words: string[]) => words.map((word) => `'${word}'`).join(' ');
      const last = quoted(stackName, ...flags, '--no-notices', ...contextOf(settings));
      return `shift\ncd '${sources}' && exec ${quoted(process.execPath, program)} "$@" ${last}`;
    },
  };
}

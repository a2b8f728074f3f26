import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { repository } from '../emulator/cloud.ts';
import type { Values } from './cdk.ts';
import type { Deployment } from './deployment.ts';

export type Shell = Awaited<ReturnType<typeof shellOf>>;

const part =
  /^## (?<heading>.+)$|^(?: *<!-- drill: (?<name>[\w-]+) -->\n)?(?<indent> *)```sh\n(?<text>[\s\S]*?)^ *```$/gm;

/** The headings of a page, and its command blocks by the name in `<!-- drill: NAME -->` before them. */
export async function pageOf(file: string) {
  const headings: string[] = [];
  const blocks = new Map<string, string>();
  for (const { groups = {} } of (await readFile(join(repository, file), 'utf8')).matchAll(part)) {
    const { heading, name = '', indent = '', text = '' } = groups;
    if (heading !== undefined) headings.push(heading);
    else if (blocks.has(name)) throw new Error(`two blocks of ${file} are named ${name}`);
    else if (name !== '') blocks.set(name, text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''));
  }
  return { headings, blocks };
}

/**
 * A person's environment to follow a page in: `advert-bridge`, `aws`, a browser, and a folder for files.
 *
 * @param npx shell script used as `npx`; without it, nothing can be deployed
 */
export async function shellOf(
  { env, processes, folder }: Pick<Deployment, 'env' | 'processes' | 'folder'>,
  file: string,
  npx?: string,
) {
  const page = await pageOf(file);
  const cwd = join(folder, 'shell');
  const programs = join(cwd, 'bin');
  await mkdir(programs, { recursive: true });
  const node = `'${process.execPath}'`;
  const texts = {
    'advert-bridge': `exec ${node} '${join(repository, 'operators/cli/main.ts')}' "$@"`,
    aws: `exec '${join(repository, '.venv/awscli/bin/aws')}' "$@"`,
    'xdg-open': `exec ${node} '${join(import.meta.dirname, 'browser.ts')}' "$1"`,
    ...(npx && { npx }),
  };
  for (const [name, text] of Object.entries(texts)) {
    await writeFile(join(programs, name), `#!/bin/sh\n${text}\n`);
    await chmod(join(programs, name), 0o755);
  }
  const here = {
    ...env,
    PATH: [programs, env.PATH].join(delimiter),
    // Version 1 of the AWS command line supports only this variable.
    AWS_DEFAULT_REGION: env.AWS_REGION ?? '',
  };
  const followed = new Set<string>();

  return {
    ...page,
    /** Names of the blocks that were followed. */
    followed,
    /**
     * Runs a block as a person would type it, up to the first line that fails with an unexpected exit code.
     *
     * @param values by placeholder, which is a word in capitals
     * @param expected exit codes; 3 means that a person has to act
     * @returns standard output and standard error
     * @throws {Error} for a value without a placeholder, and with the complete output for any other exit code
     */
    async follow(name: string, values: Values = {}, expected = [0, 3]): Promise<string> {
      let lines = page.blocks.get(name);
      if (lines === undefined) throw new Error(`the page has no block ${name}`);
      for (const [placeholder, value] of Object.entries(values)) {
        const place = new RegExp(`(?<![\\w$-])${placeholder}(?![\\w-])`, 'g');
        if (!place.test(lines)) throw new Error(`the block ${name} has no ${placeholder}:\n${lines}`);
        lines = lines.replace(place, () => value);
      }
      followed.add(name);
      const goOn = `code=$?; case ' ${expected.join(' ')} ' in *" $code "*) ;; *) exit $code ;; esac`;
      const script = `{\ntrap '${goOn.replaceAll("'", `'\\''`)}' ERR\n${lines}\n} | cat`;
      // With --norc, because bash would otherwise treat standard input, a socket, as a remote login. The output goes
      // through a pipe, because /dev/stdout cannot be opened if it is a socket.
      const args = ['--norc', '-u', '-o', 'pipefail', '-c', script];
      const command = { file: 'bash', args, env: here, cwd };
      const { stdout, stderr } = await processes.run(command, { timeoutMs: 240_000, expected });
      return `${stdout}${stderr}`;
    },
    /** Writes a file to the folder in which the lines run. */
    write: (name: string, text: string) => writeFile(join(cwd, name), text),
  };
}

import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { repository } from '../emulator/cloud.ts';
import type { Finished, Processes } from '../emulator/processes.ts';

/** For `cdk deploy`, which is the longest of them. */
const timeoutMs = 240_000;

/** What a person has at hand: `advert-bridge`, `aws`, a browser, and a folder for a file or two. */
export interface Shell {
  /**
   * Runs the lines as they are, up to the first that fails with another exit code than those expected.
   *
   * @param expected exit codes that are fine; default: 0, and 3, which tells that something is left for a person
   * @throws {Error} with all that they said, for any other exit code
   */
  run(lines: string, expected?: readonly number[]): Promise<Finished>;
  /** Puts a file where the lines run. */
  write(file: string, text: string): Promise<void>;
}

/**
 * @param aws the program
 * @param npx a shell script in its place; without it nothing can be deployed
 */
export async function openShell(
  folder: string,
  env: Readonly<Record<string, string>>,
  processes: Processes,
  aws: string,
  npx?: string,
): Promise<Shell> {
  const cwd = join(folder, 'drill');
  const programs = join(cwd, 'bin');
  await mkdir(programs, { recursive: true });
  const node = `'${process.execPath}'`;
  const texts = {
    'advert-bridge': `exec ${node} '${join(repository, 'cli', 'main.ts')}' "$@"`,
    aws: `exec '${aws}' "$@"`,
    // The browser of a user whom the sandbox answers for: it goes where it is sent, and shows nobody the page.
    'xdg-open': `exec ${node} -e 'fetch(process.argv[1])' "$1"`,
    ...(npx && { npx }),
  };
  for (const [name, text] of Object.entries(texts)) {
    await writeFile(join(programs, name), `#!/bin/sh\n${text}\n`);
    await chmod(join(programs, name), 0o755);
  }
  const here = {
    ...env,
    PATH: [programs, env.PATH].join(delimiter),
    // Version 1 of the AWS command line knows no other name.
    AWS_DEFAULT_REGION: env.AWS_REGION ?? '',
  };

  return {
    async run(lines, expected = [0, 3]) {
      const goOn = `code=$?; case ' ${expected.join(' ')} ' in *" $code "*) ;; *) exit $code ;; esac`;
      const script = `{\ntrap '${goOn.replaceAll("'", `'\\''`)}' ERR\n${lines}\n} | cat`;
      // Without --norc bash takes standard input, which is a socket, for a login from elsewhere; through a pipe, for
      // nobody can open /dev/stdout where it is a socket.
      const args = ['--norc', '-u', '-o', 'pipefail', '-c', script];
      const finished = await processes.run({ file: 'bash', args, env: here, cwd }, { timeoutMs });
      if (!expected.includes(finished.code ?? -1)) {
        const { code, stdout, stderr } = finished;
        throw new Error(`this ended with ${code}:\n${lines}${stdout}${stderr}`.trim());
      }
      return finished;
    },
    write: (file, text) => writeFile(join(cwd, file), text),
  };
}

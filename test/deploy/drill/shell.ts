import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { repository } from '../emulator/cloud.ts';
import type { Finished, Processes } from '../emulator/processes.ts';

/** Long enough for `cdk deploy`, the slowest command. */
const timeoutMs = 240_000;

/** A person's environment: `advert-bridge`, `aws`, a browser, and a folder for files. */
export interface Shell {
  /**
   * Runs the lines unchanged, up to the first one that fails with an unexpected exit code.
   *
   * @param expected accepted exit codes; default: 0, and 3, which means that a person has to act
   * @throws {Error} with the complete output, for any other exit code
   */
  run(lines: string, expected?: readonly number[]): Promise<Finished>;
  /** Writes a file to the folder in which the lines run. */
  write(file: string, text: string): Promise<void>;
}

/**
 * @param aws path of the program
 * @param npx shell script used as `npx`; without it, nothing can be deployed
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

  return {
    async run(lines, expected = [0, 3]) {
      const goOn = `code=$?; case ' ${expected.join(' ')} ' in *" $code "*) ;; *) exit $code ;; esac`;
      const script = `{\ntrap '${goOn.replaceAll("'", `'\\''`)}' ERR\n${lines}\n} | cat`;
      // With --norc, because bash would otherwise treat standard input, a socket, as a remote login. The output goes
      // through a pipe, because /dev/stdout cannot be opened if it is a socket.
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

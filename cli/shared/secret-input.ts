import { readFile } from 'node:fs/promises';
import { text as textOf } from 'node:stream/consumers';
import { CommandError, UsageError } from '../../operations/errors.ts';
import { Secret } from '../../shared/domain/secret.ts';
import { type Io, print } from './io.ts';

export interface SecretSource {
  readonly what: string;
  readonly option: string;
  readonly fromStdin: boolean;
  readonly file: string | undefined;
}

/**
 * Reads a secret from standard input or a file, without the trailing newline.
 *
 * @throws {UsageError} if no source or two sources are given, or standard input is a terminal
 * @throws {CommandError} if it is empty, too long or has several lines, or the file cannot be read
 */
export async function readSecret(io: Io, { what, option, fromStdin, file }: SecretSource): Promise<Secret> {
  if (fromStdin === (file !== undefined) || (fromStdin && io.stdin.isTTY))
    throw new UsageError(
      `give the ${what} in one of two ways: ${option}-file FILE, or ${option}-stdin and pipe it in ` +
        `(\`… ${option}-stdin < FILE\`), because a terminal would show it`,
    );
  const given = file === undefined ? await textOf(io.stdin) : await readTextFile(file, what);
  const secret = given.replace(/^\uFEFF/, '').trim();
  if (/^.{1,16384}$/.test(secret)) return new Secret(secret);
  // A file's name may be the secret itself, given by mistake.
  const from = file === undefined ? 'standard input' : 'the file';
  throw new CommandError(
    `the ${what} has to be one line of at most 16 KB, but ${from} holds ${secret === '' ? 'nothing' : 'something else'}. Nothing was stored`,
  );
}

export const readTextFile = (file: string, what: string): Promise<string> =>
  readFile(file, 'utf8').catch((cause: unknown) => {
    const { code } = cause as NodeJS.ErrnoException;
    throw new CommandError(`the file of the ${what} cannot be read (${code})`);
  });

/** @throws {UsageError} if an action that cannot be undone needs a confirmation, but there is no terminal */
export function requireTerminal({ stdin }: Io, what: string): void {
  if (stdin.isTTY) return;
  throw new UsageError(
    `${what} cannot be undone, and there is no terminal to ask: add --yes if you are sure`,
  );
}

/** @throws {CommandError} unless the answer is yes */
export async function confirm(io: Io, question: string): Promise<void> {
  print(io.stderr, `${question} [y/N] `);
  for await (const chunk of io.stdin) {
    if (/^\s*y(es)?\s*$/i.test(String(chunk))) return;
    break;
  }
  throw new CommandError('nothing was changed');
}

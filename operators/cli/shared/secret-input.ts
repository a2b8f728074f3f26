import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { text as textOf } from 'node:stream/consumers';
import { Secret } from '../../../shared/domain/secret.ts';
import { failed, UsageError } from '../../operations/errors.ts';
import { type Io, print } from './io.ts';

export interface SecretSource {
  readonly what: string;
  readonly option: string;
  readonly fromStdin: boolean;
  readonly file: string | undefined;
}

/**
 * Reads a secret from standard input or a file, without the trailing newline. On a terminal, asks for it.
 *
 * @throws {UsageError} if no source or two sources are given
 * @throws {CommandError} if it is empty, too long or has several lines, or the file cannot be read
 */
export async function readSecret(io: Io, { what, option, fromStdin, file }: SecretSource): Promise<Secret> {
  if (fromStdin === (file !== undefined))
    throw new UsageError(
      `give the ${what} in one of two ways: ${option}-file FILE, or ${option}-stdin, which reads it from a pipe or asks for it`,
    );
  let given: string;
  if (file !== undefined) given = await readTextFile(file, what);
  else given = io.stdin.isTTY ? await askHidden(io, what) : await textOf(io.stdin);
  const secret = given.replace(/^\uFEFF/, '').trim();
  if (/^.{1,16384}$/.test(secret)) return new Secret(secret);
  // A file's name may be the secret itself, given by mistake.
  const from = file !== undefined ? 'the file' : io.stdin.isTTY ? 'your line' : 'standard input';
  throw failed('not-one-line', { what, from, found: secret === '' ? 'nothing' : 'something else' });
}

/** @returns a line that the terminal does not show; nothing after Ctrl-C or Ctrl-D */
async function askHidden({ stdin, stderr }: Io, what: string): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  // With an output that is a terminal to it, readline switches the echo of the real one off.
  const lines = createInterface({ input: stdin, output: nowhere, terminal: true, historySize: 0 });
  print(stderr, `The ${what} (it is not shown): `);
  const [line = ''] = await Promise.race([once(lines, 'line'), once(lines, 'close')]);
  lines.close();
  print(stderr, '\n');
  return line;
}

export const readTextFile = (file: string, what: string): Promise<string> =>
  readFile(file, 'utf8').catch((cause: unknown) => {
    throw failed('no-file', { what, code: (cause as NodeJS.ErrnoException).code });
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
  throw failed('not-confirmed');
}

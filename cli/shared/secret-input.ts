import { readFile } from 'node:fs/promises';
import { CommandError, UsageError } from '../../operations/errors.ts';
import { Secret } from '../../shared/domain/secret.ts';
import { type Io, print } from './io.ts';

export interface SecretSource {
  readonly what: string;
  readonly option: string;
  readonly fromStdin: boolean;
  readonly file: string | undefined;
}

const maxBytes = 16_384;

/**
 * Reads a secret from standard input or a file, without the trailing newline.
 *
 * @throws {UsageError} if no source or two sources are given, or standard input is a terminal
 * @throws {CommandError} if it is empty, too long or has several lines, or the file cannot be read
 */
export async function readSecret(io: Io, { what, option, fromStdin, file }: SecretSource): Promise<Secret> {
  if (fromStdin === (file !== undefined)) {
    throw new UsageError(
      `give the ${what} in one of two ways: ${option}-stdin (on standard input) or ${option}-file FILE`,
    );
  }
  if (fromStdin && io.stdin.isTTY) {
    throw new UsageError(
      `${option}-stdin reads the ${what} from standard input, which is this terminal and would show it. ` +
        `Pipe it in (\`… ${option}-stdin < FILE\`), or give ${option}-file FILE`,
    );
  }
  const secret = (await readInput(io, file, what)).replace(/^\uFEFF/, '').trim();
  // A file's name may be the secret itself, given by mistake.
  const from = file === undefined ? 'standard input' : 'the file';
  if (secret === '')
    throw new CommandError(`the ${what} is empty: ${from} holds nothing. Nothing was stored`);
  if (/[\r\n]/.test(secret)) {
    throw new CommandError(`the ${what} has to be one line, but ${from} holds several. Nothing was stored`);
  }
  return new Secret(secret);
}

async function readInput({ stdin }: Io, file: string | undefined, what: string): Promise<string> {
  if (file !== undefined) {
    const text = await readTextFile(file, what);
    if (text.length > maxBytes) throw tooLong(what);
    return text;
  }
  let bytes = Buffer.alloc(0);
  for await (const chunk of stdin) {
    bytes = Buffer.concat([bytes, Buffer.from(chunk)]);
    if (bytes.length > maxBytes) throw tooLong(what);
  }
  return bytes.toString('utf8');
}

export const readTextFile = (file: string, what: string): Promise<string> =>
  readFile(file, 'utf8').catch((cause: unknown) => {
    const { code } = cause as NodeJS.ErrnoException;
    throw new CommandError(`the file of the ${what} cannot be read (${code})`);
  });

const tooLong = (what: string) =>
  new CommandError(
    `the ${what} is longer than ${maxBytes} bytes: that is some other file. Nothing was stored`,
  );

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

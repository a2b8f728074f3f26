import { readFile } from 'node:fs/promises';
import { CommandError, UsageError } from '../../operations/errors.ts';
import { Secret } from '../../shared/domain/secret.ts';
import type { Io } from './io.ts';

export interface SecretSource {
  /** As a person knows it, such as `client secret`. */
  readonly what: string;
  /** Its options' common beginning, such as `--client-secret`. */
  readonly option: string;
  readonly fromStdin?: boolean;
  readonly file?: string;
  /** Name of an environment variable, for commands that take one. */
  readonly env?: string;
}

const maxBytes = 16_384;

/**
 * A secret from standard input or from a file, without the newline at its end.
 *
 * @throws {UsageError} when it is given in no way, in two ways, or standard input is a terminal
 * @throws {CommandError} when it is empty, too long, of several lines, or the file cannot be read
 */
export async function readSecret(io: Io, source: SecretSource): Promise<Secret> {
  const { what, option, fromStdin = false, file, env } = source;
  checkSecretSource(source);
  if (fromStdin && io.stdin.isTTY) {
    throw new UsageError(
      `${option}-stdin reads the ${what} from standard input, which is this terminal, where it would show. ` +
        `Pipe it in (\`… ${option}-stdin < FILE\`), or give ${option}-file FILE`,
    );
  }
  const text =
    env !== undefined
      ? (io.env[env] ?? '')
      : file === undefined
        ? await readAll(io.stdin, what)
        : await readAllOf(file, what);
  const secret = text
    .replace(/^\uFEFF/, '')
    .replace(/\r?\n$/, '')
    .trim();
  const from = env === undefined ? (file ?? 'standard input') : `environment variable ${env}`;
  if (secret === '')
    throw new CommandError(`the ${what} is empty: ${from} holds nothing. Nothing was stored`);
  if (/[\r\n]/.test(secret)) {
    throw new CommandError(`the ${what} has to be one line, but ${from} holds several. Nothing was stored`);
  }
  return new Secret(secret);
}

/** @throws {UsageError} unless the secret is given in exactly one way */
export function checkSecretSource({ what, option, fromStdin = false, file, env }: SecretSource): void {
  const ways = [fromStdin, file !== undefined, env !== undefined].filter(Boolean);
  if (ways.length !== 1) {
    throw new UsageError(
      `the ${what} is needed, in one of two ways: ${option}-stdin (on standard input) or ${option}-file FILE`,
    );
  }
}

async function readAll(stream: AsyncIterable<Uint8Array | string>, what: string): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    chunks.push(Buffer.from(chunk));
    bytes += chunk.length;
    if (bytes > maxBytes) throw tooLong(what);
  }
  return Buffer.concat(chunks).toString('utf8');
}

async function readAllOf(file: string, what: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    const { code } = cause as NodeJS.ErrnoException;
    throw new CommandError(`the file of the ${what} cannot be read (${code}): ${file}`, { cause });
  });
  if (text.length > maxBytes) throw tooLong(what);
  return text;
}

const tooLong = (what: string) =>
  new CommandError(
    `the ${what} is longer than ${maxBytes} bytes: that is some other file. Nothing was stored`,
  );

import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { printableJson, printableLines } from '../../shared/domain/text/printable.ts';

/** All that a command has of the world around its process; tests pass their own. */
export interface Io {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  /** For data alone. */
  readonly stdout: Writable & { readonly isTTY?: boolean };
  /** For people. */
  readonly stderr: Writable & { readonly isTTY?: boolean };
  readonly env: Readonly<Record<string, string | undefined>>;
  /**
   * Aborted by SIGINT or SIGTERM, and when the npm that started the process has gone. Only for commands that then still have
   * something to finish: until a command calls this, signals end the process as they always do.
   */
  untilStopped(): AbortSignal;
}

/**
 * Tells a person something on standard error: one line, or several. What a terminal would not show as it is (control
 * characters, bidi, zero width) is written as `\uXXXX`, wherever it comes from.
 */
export function say({ stderr }: Pick<Io, 'stderr'>, text: string): void {
  stderr.write(`${printableLines(text)}\n`);
}

/** Writes a result as one line of JSON; unprintable characters in it as `\uXXXX`, which is the same value. */
export function give({ stdout }: Pick<Io, 'stdout'>, data: unknown): void {
  stdout.write(`${printableJson(JSON.stringify(data))}\n`);
}

/**
 * Writes what a command was asked for as text, on standard output; unprintable characters in it as `\uXXXX`. A person may
 * read it, and a pipe may take it.
 */
export function show({ stdout }: Pick<Io, 'stdout'>, text: string): void {
  stdout.write(`${printableLines(text)}\n`);
}

/** Writes lines of data, and waits while their reader is slower. Ends early when `signal` is aborted. */
export async function stream(
  { stdout }: Pick<Io, 'stdout'>,
  lines: string,
  signal: AbortSignal,
): Promise<void> {
  if (!stdout.write(lines)) await once(stdout, 'drain', { signal }).catch(() => undefined);
}

/** Takes away what a terminal shows, so that the next thing shown stands alone; the terminal's history keeps the rest. */
export function clearScreen({ stdout }: Pick<Io, 'stdout'>): void {
  stdout.write('\u001B[H\u001B[J');
}

/** A reader that has enough (`| head -1`) is no fault. EOF: so Windows calls it. */
const readerGone: readonly string[] = ['EPIPE', 'EOF'];

/** Notices when standard output does not take what is written, as a full disk does not. */
export function watchOutput({ stdout }: Pick<Io, 'stdout'>) {
  let first: NodeJS.ErrnoException | undefined;
  stdout.on('error', (error) => {
    first ??= error;
  });
  return {
    /** The system's code for what went wrong with all that was written so far, such as `ENOSPC`. */
    async fault(): Promise<string | undefined> {
      await new Promise<void>((written) => stdout.write('', () => written()));
      if (first === undefined) return undefined;
      const { code = 'unknown' } = first;
      return readerGone.includes(code) ? undefined : code;
    },
  };
}

/** Writes text as it is made, such as a question that the answer is typed behind, or help. */
export function print(output: Writable, text: string): void {
  output.write(printableLines(text));
}

/** `usage`: the command line or a setting is wrong. `needsPerson`: done, with something left for a person. */
export const exitCodes = { done: 0, fault: 1, usage: 2, needsPerson: 3 } as const;
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

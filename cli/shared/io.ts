import type { Readable, Writable } from 'node:stream';
import { printableJson, printableLines } from '../../shared/domain/text/printable.ts';

/** Everything that a command has of the world around its process; tests pass their own. */
export interface Io {
  readonly stdin: Readable & { readonly isTTY?: boolean };
  /** For data alone. */
  readonly stdout: Writable;
  /** For people. */
  readonly stderr: Writable & { readonly isTTY?: boolean };
  readonly env: Readonly<Record<string, string | undefined>>;
  /**
   * Aborted when somebody asks the process to end. Only for commands that then still have something to finish: until it
   * is asked for, signals end the process as they always do.
   */
  untilStopped(): AbortSignal;
}

/**
 * Says something to a person: one line, or several. What a terminal would not show as it is (control characters, bidi,
 * zero width) is written as `\uXXXX`, whatever it comes from.
 */
export function say({ stderr }: Pick<Io, 'stderr'>, text: string): void {
  stderr.write(`${printableLines(text)}\n`);
}

/** Asks a person something: the same, without the end of the line. */
export function ask({ stderr }: Pick<Io, 'stderr'>, question: string): void {
  stderr.write(printableLines(question));
}

/** Gives the result as one line of JSON; unprintable characters in it as `\uXXXX`, which is the same value. */
export function give({ stdout }: Pick<Io, 'stdout'>, data: unknown): void {
  stdout.write(`${printableJson(JSON.stringify(data))}\n`);
}

/** The help, which is text, on the output that it was asked for. */
export function help(output: Writable, text: string): void {
  output.write(printableLines(text));
}

/** Design §11. */
export const exitCodes = { done: 0, fault: 1, usage: 2, needsPerson: 3 } as const;
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

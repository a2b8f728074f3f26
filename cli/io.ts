import type { Readable, Writable } from 'node:stream';

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

/** Says something to a person: one line, or several. */
export function say(io: Io, text: string): void {
  io.stderr.write(`${text}\n`);
}

/** Gives the result as one line of JSON. */
export function give(io: Io, data: unknown): void {
  io.stdout.write(`${JSON.stringify(data)}\n`);
}

/** Design §11. */
export const exitCodes = { done: 0, fault: 1, usage: 2, needsPerson: 3 } as const;
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes];

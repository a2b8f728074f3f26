import type { Command } from 'commander';
import type { ExitCode, Io } from './io.ts';

/** Adds a command to the program; `end` is told the exit code when its work is done. */
export type AddCommand = (program: Command, io: Io, end: (exitCode: ExitCode) => void) => Command;

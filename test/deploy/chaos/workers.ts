import { processTable } from '../emulator/process-table.ts';

/**
 * The emulator's worker processes: one for each warm function, more when invocations overlap; its folder, which is
 * named after the function, is in its command line.
 */
export class Workers {
  #known: readonly { readonly pid: number; readonly command: string }[] = [];

  /** Reads the process table, which takes too long to be done in the moment that a signal is for. */
  async look(): Promise<void> {
    this.#known = await processTable();
  }

  /** Process IDs of the function's workers that were seen by the last look and are alive. */
  of(functionName: string): number[] {
    return this.#known
      .filter(({ pid, command }) => command.includes(`ministack-lambda-${functionName}-`) && send(pid, 0))
      .map(({ pid }) => pid);
  }
}

/** @returns false when there is no such process any more */
export function send(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(pid, signal);
    return true;
  } catch {
    return false;
  }
}

import { processTable } from '../emulator/process-table.ts';

/**
 * The emulator's worker processes: one for each warm function, more when invocations overlap. A worker's command line
 * contains its folder, which is named after the function.
 */
export class Workers {
  #known: readonly { readonly pid: number; readonly command: string }[] = [];

  /** Reads the process table. This takes too long to be done at the moment of the signal. */
  async look(): Promise<void> {
    this.#known = await processTable();
  }

  /** Process IDs of the function's workers that the last look found and that are still alive. */
  of(functionName: string): number[] {
    return this.#known
      .filter(({ pid, command }) => command.includes(`ministack-lambda-${functionName}-`) && send(pid, 0))
      .map(({ pid }) => pid);
  }
}

/** @returns false if the process no longer exists */
export function send(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(pid, signal);
    return true;
  } catch {
    return false;
  }
}

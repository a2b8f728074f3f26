import { open, stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

const pauseMs = 40;

/**
 * Reads the emulator's log about invocations: the only source that shows whether a signal hit a running invocation.
 */
export class EmulatorLog {
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
  }

  /** The current end of the log. */
  async mark(): Promise<number> {
    return (await stat(this.#file)).size;
  }

  /** Whether this text is logged after the mark, within the given time. */
  async says(pattern: RegExp, mark: number, withinMs: number): Promise<boolean> {
    const until = Date.now() + withinMs;
    for (;;) {
      if (pattern.test(await this.since(mark))) return true;
      if (Date.now() >= until) return false;
      await sleep(pauseMs);
    }
  }

  /** Everything logged after the mark. */
  async since(mark: number): Promise<string> {
    const file = await open(this.#file);
    try {
      const { size } = await file.stat();
      const { buffer, bytesRead } = await file.read(Buffer.alloc(size - mark), 0, size - mark, mark);
      return buffer.toString('utf8', 0, bytesRead);
    } finally {
      await file.close();
    }
  }
}

/** For a function invoked by the event source mapping; a direct caller gets the error as an answer instead. */
export const batchDied = (functionName: string): RegExp =>
  new RegExp(`ESM: Lambda ${functionName} failed processing .*errorMessage=Worker process died`);

export const timedOut = (functionName: string): RegExp =>
  new RegExp(`Lambda ${functionName} timed out after`);

import { open, stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

const pauseMs = 40;

/** What the emulator itself says became of invocations: the only one who knows whether a signal hit one in progress. */
export class EmulatorLog {
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
  }

  /** The place from which to read what is written from now on. */
  async mark(): Promise<number> {
    return (await stat(this.#file)).size;
  }

  /** Whether it writes this after the mark, within the time given. */
  async says(pattern: RegExp, mark: number, withinMs: number): Promise<boolean> {
    const until = Date.now() + withinMs;
    for (;;) {
      if (pattern.test(await this.since(mark))) return true;
      if (Date.now() >= until) return false;
      await sleep(pauseMs);
    }
  }

  /** All that was written after the mark. */
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

/** Of a function that the event source mapping has invoked; who invokes one himself is answered. */
export const batchDied = (functionName: string): RegExp =>
  new RegExp(`ESM: Lambda ${functionName} failed processing .*errorMessage=Worker process died`);

export const timedOut = (functionName: string): RegExp =>
  new RegExp(`Lambda ${functionName} timed out after`);

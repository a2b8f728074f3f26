/** A step that all later steps depend on has failed. */
export class RunEndedError extends Error {
  override readonly name = 'RunEndedError';
}

/** Runs the steps, prints each with its duration, and counts the results. */
export class Steps {
  passed = 0;
  failed = 0;
  readonly #say: (line: string) => void;

  constructor(say: (line: string) => void) {
    this.#say = say;
  }

  /** A step whose failure is recorded; the run continues. */
  async check(name: string, body: () => Promise<unknown>): Promise<void> {
    await this.need(name, body).catch(() => undefined);
  }

  /** A step that all later steps depend on. @throws {RunEndedError} when it fails */
  async need<T>(name: string, body: () => Promise<T>): Promise<T> {
    const begun = Date.now();
    const line = (verdict: string) =>
      this.#say(`${verdict} ${((Date.now() - begun) / 1000).toFixed(1).padStart(5)} s  ${name}`);
    try {
      const made = await body();
      this.passed += 1;
      line('pass');
      return made;
    } catch (error) {
      this.failed += 1;
      line('FAIL');
      this.#say(told(error).replaceAll(/^/gm, '       '));
      throw new RunEndedError(`${name} failed, so what comes after it was not tried`, { cause: error });
    }
  }

  /** Prints the line that .ci/run counts, and sets the exit code. */
  end(name: string): void {
    this.#say(`${name}: ${this.passed} passed, ${this.failed} failed`);
    process.exitCode = this.failed === 0 ? 0 : 1;
  }
}

/** The message, and its location in the check. */
function told(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const frame = error.stack?.split('\n').find((line) => /^ +at .*test\/(browser|deploy)/.test(line));
  return [`${error.name}: ${error.message}`, ...(frame ? [frame] : [])].join('\n');
}

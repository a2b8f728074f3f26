export interface Counts {
  readonly passed: number;
  readonly failed: number;
}

/** A step that all later steps depend on has failed. */
export class RunEndedError extends Error {
  override readonly name = 'RunEndedError';
}

/** Runs the steps, prints each with its duration, and counts the results. */
export class Steps {
  passed = 0;
  failed = 0;
  #say: (line: string) => void;

  constructor(say: (line: string) => void) {
    this.#say = say;
  }

  /** Stops printing: failures while everything is being stopped are not findings. */
  mute(): void {
    this.#say = () => undefined;
  }

  /** A step whose failure is recorded; the run continues. */
  check(name: string, body: () => Promise<void>): Promise<void> {
    return this.count(name, async () => {
      await body();
      return { passed: 1, failed: 0 };
    });
  }

  /** The same for a step that consists of many: it returns its own counts. */
  async count(name: string, body: () => Promise<Counts>): Promise<void> {
    const begun = Date.now();
    try {
      const { passed, failed } = await body();
      this.passed += passed;
      this.failed += failed;
      this.#line(failed > 0 ? 'FAIL' : 'pass', name, begun);
    } catch (error) {
      this.#fault(name, begun, error);
    }
  }

  /** A step that all later steps depend on. @throws {RunEndedError} when it fails */
  async need<T>(name: string, body: () => Promise<T>): Promise<T> {
    const begun = Date.now();
    try {
      const made = await body();
      this.passed += 1;
      this.#line('pass', name, begun);
      return made;
    } catch (error) {
      this.#fault(name, begun, error);
      throw new RunEndedError(`${name} failed, so what comes after it was not tried`, { cause: error });
    }
  }

  #fault(name: string, begun: number, error: unknown): void {
    this.failed += 1;
    this.#line('FAIL', name, begun);
    this.#say(told(error).replaceAll(/^/gm, '       '));
  }

  #line(verdict: string, name: string, begun: number): void {
    this.#say(`${verdict} ${((Date.now() - begun) / 1000).toFixed(1).padStart(5)} s  ${name}`);
  }
}

/** The message, and its location in the deploy test. */
function told(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const frame = error.stack?.split('\n').find((line) => /^ +at .*test\/deploy/.test(line));
  return [`${error.name}: ${error.message}`, ...(frame ? [frame] : [])].join('\n');
}

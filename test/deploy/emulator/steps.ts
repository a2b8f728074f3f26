export interface Counts {
  readonly passed: number;
  readonly failed: number;
}

/** A step without which nothing after it makes sense has failed. */
export class RunEndedError extends Error {
  override readonly name = 'RunEndedError';
}

/** Runs the steps, prints each with its duration, and counts. */
export class Steps {
  passed = 0;
  failed = 0;
  #say: (line: string) => void;

  constructor(say: (line: string) => void) {
    this.#say = say;
  }

  /** From now on nothing is printed: what fails while everything is being stopped is no finding. */
  mute(): void {
    this.#say = () => undefined;
  }

  /** A step whose failure is noted; the run goes on. */
  check(name: string, body: () => Promise<void>): Promise<void> {
    return this.count(name, async () => {
      await body();
      return { passed: 1, failed: 0 };
    });
  }

  /** The same for a step that is many: counted as it says. */
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

  /** A step that everything after it stands on. @throws {RunEndedError} when it fails */
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

/** The message, and where in the deploy test it came from. */
function told(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const frame = error.stack?.split('\n').find((line) => /^ +at .*test\/deploy/.test(line));
  return [`${error.name}: ${error.message}`, ...(frame ? [frame] : [])].join('\n');
}

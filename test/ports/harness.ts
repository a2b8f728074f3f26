import { afterEach } from 'vitest';

/** Capabilities of an adapter's environment. A suite skips tests that need more. */
export interface Capabilities {
  /** The tests control the clock. Otherwise, tests that need the passing of time are skipped. */
  readonly controlsTime: boolean;
  /** Like SQS, accepts a key once within five minutes. */
  readonly deduplicates: boolean;
}

export interface Cleaned {
  cleanUp?(): Promise<void>;
}

/** A subject for each test, cleaned up after it. Call it inside `describe`. */
export function subjects<T extends Cleaned>(make: () => Promise<T>): () => Promise<T> {
  const made: T[] = [];
  afterEach(async () => {
    for (const subject of made.splice(0)) await subject.cleanUp?.();
  });
  return async () => {
    const subject = await make();
    made.push(subject);
    return subject;
  };
}

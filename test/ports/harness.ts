import { afterEach } from 'vitest';

/** What an adapter's world can do; a suite leaves out what it cannot. */
export interface Capabilities {
  /** The tests own the clock. Where they do not, nothing is asked that only the passing of time would show. */
  readonly controlsTime: boolean;
  /** The books are exact after every operation: counting is one transaction with what is counted. */
  readonly countsOnAcceptance: boolean;
}

export const exact: Capabilities = { controlsTime: true, countsOnAcceptance: true };

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

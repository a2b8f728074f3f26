import type { DeadLetter } from '../contract/messages.ts';

/** Dead letters of what never was a message: fan-out dead-letters messages by a verdict ({@link Verdict}). */
export interface DeadLetters {
  /**
   * Resolves when all are accepted. Where the queue counts for the books (see {@link PageCounts}), each is counted with its
   * `count` as listed and dead-lettered.
   */
  sendMalformed(deadLetters: readonly DeadLetter[]): Promise<void>;
}

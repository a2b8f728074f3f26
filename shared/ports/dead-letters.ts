import type { DeadLetter } from '../contract/messages.ts';

/** Dead letters for malformed IDs, which never became messages. (Fan-out dead-letters messages by a {@link Verdict}.) */
export interface DeadLetters {
  /**
   * Resolves when all are accepted. If the queue counts for the books (see {@link PageCounts}), each dead letter is
   * counted with its `count` as listed and dead-lettered.
   */
  sendMalformed(deadLetters: readonly DeadLetter[]): Promise<void>;
}

import type { DeadLetter } from '../contract/messages.ts';

export interface DeadLetters {
  /**
   * Accepted, or it throws. Each letter counts with its `count` as listed and dead-lettered where the queue counts (see
   * {@link Progress}).
   */
  sendMalformed(letters: readonly DeadLetter[]): Promise<void>;
}

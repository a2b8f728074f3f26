import type { Books } from '../domain/books.ts';

/** Reads the books, for `status` and for the drain's view of a backlog. */
export interface BookKeeper {
  read(partnerAccount: string, generation: number): Promise<Books>;
  queue(): Promise<QueueFigures>;
}

/** Figures of the whole queue. */
export interface QueueFigures {
  /** Number of messages, including those in flight and those aside. */
  readonly waiting: number;
  readonly deadLetters: number;
  /**
   * When the change that waits longest was listed. Absent when nothing waits; on AWS also when nothing is aside,
   * because SQS does not show its messages.
   */
  readonly oldestListedAt?: string;
}

import type { FeedName } from '../contract/feeds.ts';
import type { Books } from '../domain/books.ts';

/** Reads the books, for `status` and for the drain's view of a backlog. */
export interface BookKeeper {
  /** @param feed whose; default: adverts */
  read(partnerAccount: string, generation: number, feed?: FeedName): Promise<Books>;
  queue(): Promise<QueueFigures>;
}

/** Of the whole queue. */
export interface QueueFigures {
  /** Includes what is in flight and what is parked. */
  readonly waiting: number;
  readonly deadLetters: number;
  /**
   * When the change that waits longest was listed. Absent when nothing waits; on AWS, where nobody can look into the queue,
   * also when nothing is parked.
   */
  readonly oldestListedAt?: string;
}

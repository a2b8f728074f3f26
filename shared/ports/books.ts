import type { Books } from '../domain/books.ts';

/** Reads the books, for `status` and for the drain's view of a backlog. */
export interface BookKeeper {
  read(partnerAccount: string, generation: number): Promise<Books>;
  /** Of the whole queue; `waiting` includes what is in flight. */
  queue(): Promise<{ readonly waiting: number; readonly deadLetters: number }>;
}

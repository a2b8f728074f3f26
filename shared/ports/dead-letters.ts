import type { DeadLetter } from '../contract/messages.ts';

/** Dead letters for malformed IDs, which never became messages. (Fan-out dead-letters messages by a {@link Verdict}.) */
export interface DeadLetters {
  /**
   * Resolves when all are accepted. If the queue counts for the books (see {@link PageCounts}), each dead letter is
   * counted with its `count` as listed and dead-lettered.
   */
  sendMalformed(deadLetters: readonly DeadLetter[]): Promise<void>;
}

/** The dead letters of a bridge of any kind. Every method may be called again with the same letters. */
export interface StoredLetters {
  /** Oldest first. */
  list(choice: LetterChoice): Promise<LetterList>;
  /** Puts their messages back into the queue. */
  redrive(choice: LetterChoice): Promise<LetterOutcome>;
  /** Deletes them permanently. */
  drop(choice: { readonly ids: readonly string[] }): Promise<LetterOutcome>;
}

/** Selects letters: those of `ids`, otherwise those of the partner account, otherwise all. */
export interface LetterChoice {
  readonly ids?: readonly string[];
  readonly partnerAccount?: string;
}

export interface StoredLetter {
  /** The row's number in an embedded bridge; the SQS MessageId in a stack. */
  readonly id: string;
  readonly letter: DeadLetter;
}

export interface LetterList {
  readonly letters: readonly StoredLetter[];
  /** Approximate number of further letters that SQS does not return now; 0 for an embedded bridge. */
  readonly unseen: number;
}

/** The result for each letter, by ID. A letter that is in none of the lists does not exist. */
export interface LetterOutcome {
  readonly done: readonly string[];
  /** Letters left unchanged because they contain no message. */
  readonly nothingToSend: readonly string[];
  /** Letters left unchanged because the queue did not accept them; they can be tried again. */
  readonly refused: readonly string[];
  readonly unseen: number;
}

/** How the reason of a letter begins that only the newer Advert Bridge that wrote it can read. */
export const writtenByNewer = 'a newer Advert Bridge wrote it';

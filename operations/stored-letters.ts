import type { DeadLetter } from '../shared/contract/messages.ts';

/** The dead letters of a bridge, whichever kind it is. Every method may be called again with the same letters. */
export interface StoredLetters {
  /** Oldest first. */
  list(choice: LetterChoice): Promise<LetterList>;
  /** Puts their messages back into the queue. */
  redrive(choice: LetterChoice): Promise<LetterOutcome>;
  /** Removes them for good. */
  drop(choice: { readonly ids: readonly string[] }): Promise<LetterOutcome>;
}

/** Which letters are meant: those of `ids`, else those of the partner account, else all. */
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
  /** About how many more letters SQS does not hand out now; 0 for an embedded bridge. */
  readonly unseen: number;
}

/** What became of the letters, by ID. A letter in none of the lists does not exist. */
export interface LetterOutcome {
  readonly done: readonly string[];
  /** Left, for there is no message in them. */
  readonly nothingToSend: readonly string[];
  /** Left, for the queue did not take them; may be tried again. */
  readonly refused: readonly string[];
  readonly unseen: number;
}

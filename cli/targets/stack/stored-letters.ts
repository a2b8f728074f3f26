import { createBooksWriter } from '../../../shared/aws/books.ts';
import { createStoredLetters } from '../../../shared/aws/stored-letters.ts';
import type { StackBridge } from './bridge.ts';

/** The dead letters of a stack, and the partner accounts that they may belong to. */
export const stackLetters = ({ queue, deadLetterQueue, store, state }: StackBridge) => ({
  letters: createStoredLetters({ queue, deadLetterQueue, books: createBooksWriter(store) }),
  accounts: state.partnerAccounts,
});

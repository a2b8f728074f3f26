import { createBooks } from '../../../shared/aws/books.ts';
import { createPartnerAccounts } from '../../../shared/aws/partner-accounts.ts';
import { createStoredLetters } from '../../../shared/aws/redrive.ts';
import type { StackBridge } from './bridge.ts';

/** The dead letters of a stack, and the partner accounts that they may belong to. */
export const stackLetters = ({ queue, deadLetterQueue, feedStateTable }: StackBridge) => ({
  letters: createStoredLetters({ queue, deadLetterQueue, books: createBooks(feedStateTable) }),
  accounts: createPartnerAccounts(feedStateTable),
});

import { CommandError, UsageError } from '../../operations/errors.ts';
import type { ConnectedAccount } from '../../shared/contract/invocations.ts';
import type { Outcome } from './page.ts';

export function connectedPage({ partnerAccount, isNew, feed }: ConnectedAccount): Outcome {
  const title = `${partnerAccount} is connected${isNew ? '' : ' again'}`;
  if (feed.kind === 'failed') {
    const but =
      'The credentials are stored, but the first request for its feed failed. The terminal says why.';
    return { kind: 'attention', title, paragraphs: [but] };
  }
  const next = isNew
    ? 'From now on Advert Bridge reads which adverts change.'
    : 'Reading continues from where it had stopped.';
  const well = 'You granted access, the scope is sufficient, and the feed of changed adverts answers.';
  return { kind: 'done', title, paragraphs: [well, next] };
}

export function failedPage(partnerAccount: string, error: Error): Outcome {
  // Only messages written for users, because other messages may contain any text.
  const isForPerson = error instanceof CommandError || error instanceof UsageError;
  const reason = isForPerson ? sentence(error.message) : 'Something unexpected went wrong.';
  return failed(
    `${partnerAccount} is not connected`,
    reason,
    'The terminal says the same. To try again, run the command again.',
  );
}

const sentence = (text: string): string =>
  `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`;

const failed = (title: string, ...paragraphs: string[]): Outcome => ({ kind: 'failed', title, paragraphs });

/** Answers to all other requests. */
export const strayPages = {
  nothingHere: failed('There is nothing here', 'Use the address that the command in the terminal printed.'),
  stranger: failed(
    'This request is refused',
    'Only a browser that the partner service sends here gets an answer.',
  ),
  notOurs: failed(
    'This answer does not belong to this request',
    'Its state is missing or different: it may belong to an earlier attempt, or come from somebody else. Nothing was changed.',
    'The command in the terminal still waits. Use the address that it printed.',
  ),
  answered: failed(
    'This request was answered already',
    'Each authorization counts once. The terminal shows its outcome.',
  ),
};

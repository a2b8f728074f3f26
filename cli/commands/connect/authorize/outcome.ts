import { CommandError } from '../../../../operations/errors.ts';
import type { ConnectedAccount } from '../../../../shared/contract/connect.ts';
import type { Outcome } from './page.ts';

export function connectedPage({ partnerAccount, isNew, feed }: ConnectedAccount): Outcome {
  const title = `${partnerAccount} is connected${isNew ? '' : ' again'}`;
  if (feed.kind === 'failed') {
    return {
      kind: 'attention',
      title,
      paragraphs: [
        'The credentials are stored, but the first request for its feed failed. The terminal says why.',
      ],
    };
  }
  return {
    kind: 'done',
    title,
    paragraphs: [
      'You allowed the access, the scope is sufficient, and the feed of changed adverts answers.',
      isNew
        ? 'From now on Advert Bridge reads which adverts change.'
        : 'Reading continues from where it had stopped.',
    ],
  };
}

export function failedPage(partnerAccount: string, error: Error): Outcome {
  return {
    kind: 'failed',
    title: `${partnerAccount} is not connected`,
    // Only messages that were written for a person: any other may contain anything.
    paragraphs: [
      error instanceof CommandError ? sentence(error.message) : 'Something unexpected went wrong.',
      'The terminal says the same. To try again, run the command again.',
    ],
  };
}

const sentence = (text: string): string =>
  `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`;

/** Answers to requests that are not the one that the command waits for. */
export const nothingHere: Outcome = {
  kind: 'failed',
  title: 'There is nothing here',
  paragraphs: ['Use the address that the command in the terminal printed.'],
};
export const strangers: Outcome = {
  kind: 'failed',
  title: 'This request is refused',
  paragraphs: ['Only a browser that the partner service sends here gets an answer.'],
};
export const notOurs: Outcome = {
  kind: 'failed',
  title: 'This answer does not belong to this request',
  paragraphs: [
    'Its state is missing or different: it may belong to an earlier attempt, or come from somebody else. Nothing was changed.',
    'The command in the terminal still waits. Use the address that it printed.',
  ],
};
export const answered: Outcome = {
  kind: 'failed',
  title: 'This request was answered already',
  paragraphs: ['Each authorization counts once. The terminal shows its outcome.'],
};

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
      'You allowed the access, the scope suffices, and the feed of changed adverts answers.',
      isNew
        ? 'From now on Advert Bridge reads which adverts change.'
        : 'Reading goes on from where it had stopped.',
    ],
  };
}

export function failedPage(partnerAccount: string, error: Error): Outcome {
  return {
    kind: 'failed',
    title: `${partnerAccount} is not connected`,
    // Only what was written for a person; anything else may hold anything.
    paragraphs: [
      error instanceof CommandError ? sentence(error.message) : 'Something unexpected went wrong.',
      'The terminal says the same. To try again, run the command again.',
    ],
  };
}

const sentence = (text: string): string =>
  `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? '' : '.'}`;

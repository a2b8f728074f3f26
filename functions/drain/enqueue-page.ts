import type { Cause } from '../../shared/contract/events.ts';
import { type ChangedAdvert, type DeadLetter, type FeedName, feeds } from '../../shared/contract/messages.ts';
import { toInstant } from '../../shared/domain/clock.ts';
import { PartnerError } from '../../shared/domain/faults.ts';
import { cleanText } from '../../shared/partner-api/error-answers.ts';
import type { ChangedAdvertsQueue } from '../../shared/ports/changed-adverts-queue.ts';
import type { Observer } from '../../shared/ports/observer.ts';
import type { DeadLetters } from '../../shared/state/aside.ts';
import type { PageIds } from './page-ids.ts';

export interface EnqueueDeps {
  readonly queue: Pick<ChangedAdvertsQueue, 'send' | 'depth'>;
  readonly deadLetters: Pick<DeadLetters, 'sendMalformed'>;
  readonly observer: Observer;
  /** Returns a new, unique ID of at most 64 characters. */
  readonly newId: () => string;
}

/** The partner account and feed of the IDs. */
interface Listing {
  readonly partnerAccount: string;
  readonly generation: number;
  readonly feed: FeedName;
}

/**
 * Sends one message for each distinct ID of the page, and one dead letter for all malformed IDs.
 *
 * @returns the messages
 * @throws {PartnerError} when the queue did not accept everything; the caller must then store nothing
 */
export async function enqueuePage(
  { queue, deadLetters, observer, newId }: EnqueueDeps,
  { partnerAccount, generation, feed }: Listing,
  found: PageIds,
  { receivedAt, cause }: { readonly receivedAt: number; readonly cause: Cause },
): Promise<readonly ChangedAdvert[]> {
  // New for every page read: fan-out recognises its own writes by this ID, and the same page, read again, may stand for
  // newer changes.
  // Planted fault: key-from-cursor
  const readId = newId();
  const listedAt = toInstant(receivedAt);
  const about = { partnerAccount, feed, correlationId: readId };
  if (found.malformed > 0) {
    await deadLetters.sendMalformed([malformedIds(about, found, listedAt)]);
    const count = found.malformed;
    observer.warn(`the feed named something that is no ${feeds[feed].object} ID`, { ...about, count });
  }
  const messages = found.ids.map(
    (advertId): ChangedAdvert => ({
      ...about,
      key: `${readId}:${advertId}`,
      generation,
      advertId,
      listedAt,
      cause,
    }),
  );
  if (messages.length === 0) return messages;
  const refused = await queue.send(messages);
  // Planted fault: refused-sends-ignored
  if (refused.size > 0) {
    const message = `the queue did not accept ${refused.size} of ${messages.length} messages`;
    throw new PartnerError('transient', message);
  }
  observer.info('page accepted', { ...about, generation, adverts: messages.length });
  return messages;
}

/** One dead letter for all malformed IDs of a page, so that a broken feed does not fill the dead-letter queue. */
function malformedIds(
  { partnerAccount, feed }: Pick<Listing, 'partnerAccount' | 'feed'>,
  { malformed, malformedShown }: PageIds,
  at: string,
): DeadLetter {
  const shown = malformedShown.map((text) => JSON.stringify(cleanText(text, []).slice(0, 40)));
  const named = malformed > shown.length ? [...shown, '…'] : shown;
  const { object } = feeds[feed];
  const what = malformed === 1 ? `is no ${object} ID` : `are no ${object} IDs`;
  return {
    partnerAccount,
    advertId: malformedShown[0] ?? null,
    count: malformed,
    fault: 'malformed-id',
    reason: `the feed named ${malformed} that ${what} (expected 1 to 20 digits): ${named.join(', ')}`,
    at,
    receives: 0,
    message: null,
  };
}

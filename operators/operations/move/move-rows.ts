/** What a folder remembers of a partner account, as rows of a stack's store. */

import type { MessageRow } from '../../../embedded/state/changed-adverts-queue.ts';
import type { EmbeddedState } from '../../../embedded/state/state.ts';
import { ShapeError } from '../../../shared/contract/checks.ts';
import { messageIn } from '../../../shared/contract/messages.ts';
import type { PartnerAccount } from '../../../shared/domain/partner-account.ts';
import { deliveryPosition } from '../../../shared/ports/message-groups.ts';
import { type Counters, type Key, pagesOf, type Store, sumOf } from '../../../shared/ports/store.ts';
import { rowAside } from '../../../shared/state/aside.ts';
import { booksKey, olderBooksKey } from '../../../shared/state/books.ts';
import { noAccount } from '../../../shared/state/dead-letters.ts';
import { feedStateOf } from '../../../shared/state/feed-states.ts';
import { listedByOperations } from '../../../shared/state/progress.ts';

export interface Remembering {
  readonly rows: Store;
  readonly queue: Pick<EmbeddedState['queue'], 'messagesAfter'>;
}

export interface MovedRow {
  readonly key: Key;
  readonly value: unknown;
}

/**
 * Everything but the account's own row, in pages. The cursor comes first: whatever the feed lists after it, the stack reads
 * again. Dead letters that belong to no account come with each account.
 *
 * @throws {ShapeError} for a row or message that cannot be read
 */
export async function* rowsToMove(
  { rows, queue }: Remembering,
  { name, generation }: PartnerAccount,
): AsyncGenerator<readonly MovedRow[]> {
  yield await cursorAndBooks(rows, name, generation);
  yield* messagesOf(queue, name, generation);
  const ofName = `${name}/`;
  const ofGeneration = `${name}/${generation}/`;
  for (const [kind, prefix] of [
    ['aside', ofName],
    ['dead', ofName],
    ['dead', `${noAccount}/`],
    ['progress', ofGeneration],
    ['found', ofGeneration],
    ['history', ofGeneration],
  ] as const)
    for await (const page of pagesOf(rows, kind, prefix))
      yield page.map((row) => {
        if (row.value !== undefined) return { key: { kind, name: row.name }, value: row.value };
        throw new ShapeError(`row ${kind} ${row.name}`, [{ path: '', expected: 'expected JSON' }]);
      });
}

/**
 * A folder counts in its books what the queue accepts; a stack counts it with the cursor and with operations. So what both
 * have to add up to is in the row of the first feed, and the outcomes are in a row that only a move writes.
 */
async function cursorAndBooks(rows: Store, partnerAccount: string, generation: number): Promise<MovedRow[]> {
  const countedIn = async (key: Key) => (await rows.get(key))?.value as Counters | undefined;
  const older = olderBooksKey(partnerAccount, generation);
  const { listed: queued, ...outcomes } = sumOf(
    await countedIn(booksKey(partnerAccount, generation)),
    await countedIn(older),
  );
  const feeds = (await rows.list('feed', { prefix: `${partnerAccount}/` })).map(feedStateOf);
  let left = (queued ?? 0) - (await listedByOperations(rows, { partnerAccount, generation }));
  const moved = feeds.map(({ lease: _lease, counts, ...state }): MovedRow => {
    const key = { kind: 'feed', name: `${partnerAccount}/${state.feed}` } as const;
    if (queued === undefined || state.generation !== generation)
      return { key, value: { ...state, ...(counts && { counts }) } };
    const { malformed = 0, repeated = 0 } = counts ?? {};
    const listed = Math.max(0, left) + malformed + repeated;
    left = 0;
    return { key, value: { ...state, counts: { listed, malformed, repeated } } };
  });
  return Object.keys(outcomes).length > 0 ? [...moved, { key: older, value: outcomes }] : moved;
}

/** The messages of the queue, each as the row in which it waits until the stack's drain puts it back. */
async function* messagesOf(
  queue: Remembering['queue'],
  name: string,
  generation: number,
): AsyncGenerator<readonly MovedRow[]> {
  for (let page = queue.messagesAfter(0); page.length > 0; ) {
    yield page
      .filter((row) => row.partnerAccount === name && row.generation === generation)
      .map(rowOfMessage);
    page = queue.messagesAfter(page.at(-1)?.sequenceNumber ?? Number.POSITIVE_INFINITY);
  }
}

function rowOfMessage({ sequenceNumber, body, receives, sentAt }: MessageRow): MovedRow {
  const place = `message ${sequenceNumber} of the queue`;
  const read = messageIn(body);
  if (!('message' in read)) throw new ShapeError(place, [{ path: '', expected: read.flaw }]);
  const position = deliveryPosition(String(sequenceNumber), receives);
  const delivery = { id: place, message: read.message, position, receives, sentAt };
  return rowAside({ delivery, verdict: { kind: 'hold' } }) as MovedRow;
}

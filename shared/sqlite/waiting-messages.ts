import { messageIn } from '../contract/messages.ts';
import type { WaitingMessages } from '../ports/waiting-messages.ts';
import { type Aside, waitingAside } from '../state/aside.ts';
import type { Store } from './file/store.ts';

interface Row {
  readonly body: string;
  readonly receives: number;
  readonly visible_at: number | null;
}

/**
 * Reads the messages of an advert from the state file, even while a bridge runs; messages that its workers are handling
 * are included.
 */
export function createWaitingMessages(store: Store, aside: Pick<Aside, 'list'>): WaitingMessages {
  // A body that is not JSON belongs to no advert.
  const select = store.prepare(
    `SELECT body, receives, visible_at FROM messages
     WHERE partner_account = ?1 AND iif(json_valid(body), body ->> '$.advertId', NULL) = ?2 ORDER BY sequence_number`,
  );
  return {
    async ofAdvert(partnerAccount, advertId) {
      const rows = store.read(() => select.all(partnerAccount, advertId)) as unknown as Row[];
      const queued = rows.flatMap(({ body, receives, visible_at: until }) => {
        const read = messageIn(body);
        if (!('message' in read)) return [];
        const place = 'queue' as const;
        return [{ message: read.message, place, receives, ...(until === null ? {} : { until }) }];
      });
      return [...(await waitingAside(aside).ofAdvert(partnerAccount, advertId)), ...queued];
    },
  };
}

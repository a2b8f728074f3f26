import { messageIn } from '../contract/messages.ts';
import { objectKeyOf } from '../domain/history-key.ts';
import type { WaitingMessage, WaitingMessages } from '../ports/parked-messages.ts';
import type { Store } from './file/store.ts';

interface Row {
  readonly body: string;
  readonly place: WaitingMessage['place'];
  readonly receives: number;
  readonly visible_at: number | null;
}

/**
 * Reads the messages of an advert from the state file, even while a bridge runs; messages that its workers are handling
 * are included.
 */
export function createWaitingMessages(store: Store): WaitingMessages {
  // A body that is not JSON belongs to no advert.
  const isOfAdvert = "partner_account = ?1 AND iif(json_valid(body), body ->> '$.advertId', NULL) = ?2";
  const select = store.prepare(
    `SELECT body, 'parked' AS place, 0 AS receives, NULL AS visible_at, sequence_number FROM parked WHERE ${isOfAdvert}
     UNION ALL
     SELECT body, 'queue', receives, visible_at, sequence_number FROM messages WHERE ${isOfAdvert}
     ORDER BY sequence_number`,
  );
  return {
    async ofAdvert(partnerAccount, advertId) {
      const rows = store.read(() => select.all(partnerAccount, advertId)) as unknown as Row[];
      return rows.flatMap(({ body, place, receives, visible_at: until }) => {
        const read = messageIn(body);
        if (!('message' in read) || objectKeyOf(read.message) !== advertId) return [];
        return [{ message: read.message, place, receives, ...(until === null ? {} : { until }) }];
      });
    },
  };
}

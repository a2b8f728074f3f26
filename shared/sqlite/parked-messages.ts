import type { ParkedMessages } from '../ports/parked-messages.ts';
import type { Store } from './file/store.ts';

/** Number of messages to put back per transaction; small, because other writes wait meanwhile. */
const releasedAtOnce = 250;

export type EmbeddedParkedMessages = ReturnType<typeof createParkedMessages>;

/**
 * Messages parked outside the queue, in the state file; the books count them as in flight. A message is parked in the
 * transaction that removes it from the queue, and released in the one that puts it back, so that it is never in both.
 */
export function createParkedMessages(store: Store, clock: { now(): number }) {
  const take = store.prepare(
    `INSERT INTO parked (sequence_number, partner_account, generation, body)
     SELECT sequence_number, partner_account, generation, body FROM messages WHERE sequence_number = ?`,
  );
  // One query per name: each is found in the index, independent of its number of messages.
  const selectNext = store.prepare(
    'SELECT min(partner_account) AS name FROM parked WHERE partner_account > ?',
  );
  // Sent as new messages: their age and receive count start again.
  const putBack = store.prepare(
    `INSERT INTO messages (partner_account, generation, body, sent_at, receives)
     SELECT partner_account, generation, body, ?, 0 FROM parked
     WHERE partner_account = ? ORDER BY sequence_number LIMIT ?`,
  );
  const remove = store.prepare(
    `DELETE FROM parked WHERE sequence_number IN
     (SELECT sequence_number FROM parked WHERE partner_account = ? ORDER BY sequence_number LIMIT ?)`,
  );

  const parked: ParkedMessages = {
    async accounts() {
      const names: string[] = [];
      for (let last = ''; ; ) {
        const { name } = store.read(() => selectNext.get(last)) as { name: string | null };
        if (name === null) return names;
        names.push(name);
        last = name;
      }
    },

    async release(partnerAccount, { most, deadlineMs }) {
      let released = 0;
      while (released < most && clock.now() < deadlineMs) {
        const limit = Math.min(releasedAtOnce, most - released);
        const changes = await store.write(() => {
          putBack.run(clock.now(), partnerAccount, limit);
          return Number(remove.run(partnerAccount, limit).changes);
        });
        released += changes;
        if (changes < limit) break;
      }
      return released;
    },
  };

  return {
    ...parked,
    /** Copies a message out of the queue. Call it within the write of the store that removes it from the queue. */
    keep: (sequenceNumber: number): void => void take.run(sequenceNumber),
  };
}

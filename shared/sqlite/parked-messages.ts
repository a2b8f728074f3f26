import type { ParkedMessages } from '../ports/parked-messages.ts';
import type { Store } from './file/store.ts';

/** Messages in one transaction: others wait for it. */
const portion = 250;

export type EmbeddedParked = ReturnType<typeof createParked>;

/**
 * Messages that wait outside the queue, in the state file. They stay in flight in the books. Parking one is part of the
 * transaction that takes it out of the queue, releasing one of that which puts it back, so nothing is ever in both.
 */
export function createParked(store: Store, clock: { now(): number }) {
  const take = store.prepare(
    `INSERT INTO parked (sequence_number, partner_account, generation, body)
     SELECT sequence_number, partner_account, generation, body FROM messages WHERE sequence_number = ?`,
  );
  // Name after name: each is found in the index, however many messages it has.
  const selectNext = store.prepare(
    'SELECT min(partner_account) AS name FROM parked WHERE partner_account > ?',
  );
  // As new messages, for their age and receives begin anew.
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
        const limit = Math.min(portion, most - released);
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
    /** Copies a message out of the queue. To be called within a write of the store that removes it there. */
    keep: (sequenceNumber: number): void => void take.run(sequenceNumber),
  };
}

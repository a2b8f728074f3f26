import type { ChangedAdvert } from '../contract/messages.ts';
import type { MessageRow } from './deliveries.ts';
import { place } from './schema.ts';
import type { Store } from './store.ts';

/** Groups whose time has come are put in line this many messages at a time; the next receive goes on. */
const wokenAtOnce = 1_000;

const { firstInLine, waiting, handedOut, putOff } = place;

/**
 * The order in which messages are handed out: see `place` in schema.ts. Every function is to be called within a write
 * of the store, `hasAny` within a read.
 */
export function createMessageGroups(store: Store) {
  const insert = store.prepare(
    `INSERT INTO messages (group_key, partner_account, generation, body, sent_at, receives, place)
     VALUES (?1, ?2, ?3, ?4, ?5, 0,
       iif(EXISTS (SELECT 1 FROM messages WHERE group_key = ?1), ${waiting}, ${firstInLine}))`,
  );
  const any = store.prepare(
    `SELECT EXISTS (SELECT 1 FROM messages WHERE place = ${firstInLine})
     OR EXISTS (SELECT 1 FROM messages WHERE visible_at <= ?) AS found`,
  );
  const selectDue = store.prepare(
    `SELECT sequence_number, group_key FROM messages WHERE visible_at <= ? ORDER BY visible_at LIMIT ${wokenAtOnce}`,
  );
  const wakeOne = store.prepare(
    `UPDATE messages SET place = ${waiting}, visible_at = NULL WHERE sequence_number = ?`,
  );
  const promoteOldest = store.prepare(
    `UPDATE messages SET place = ${firstInLine} WHERE sequence_number =
       (SELECT sequence_number FROM messages WHERE group_key = ?1 AND place = ${waiting}
        ORDER BY sequence_number LIMIT 1)
     AND NOT EXISTS (SELECT 1 FROM messages WHERE group_key = ?1 AND place = ${firstInLine})
     AND NOT EXISTS (SELECT 1 FROM messages WHERE group_key = ?1 AND place >= ${handedOut})`,
  );
  const selectFirst = store.prepare(
    `SELECT group_key FROM messages WHERE place = ${firstInLine} ORDER BY sequence_number LIMIT ?`,
  );
  const takeSome = store.prepare(
    `UPDATE messages SET place = ${handedOut}, visible_at = ?, receives = receives + 1 WHERE sequence_number IN
       (SELECT sequence_number FROM messages WHERE group_key = ? AND place <= ${waiting}
        ORDER BY place, sequence_number LIMIT ?)
     RETURNING sequence_number, body, receives, sent_at`,
  );
  const putOffOne = store.prepare(
    `UPDATE messages SET place = ${putOff}, visible_at = ? WHERE sequence_number = ? AND receives = ?
     RETURNING group_key`,
  );
  const demote = store.prepare(
    `UPDATE messages SET place = ${waiting} WHERE group_key = ? AND place = ${firstInLine}`,
  );

  return {
    add(message: ChangedAdvert, sentAt: number): void {
      const { partnerAccount, generation, advertId } = message;
      const group = `${partnerAccount}/${advertId}`;
      insert.run(group, partnerAccount, generation, JSON.stringify(message), sentAt);
    },

    /** Whether {@link take} might find something. */
    hasAny: (nowMs: number): boolean => (any.get(nowMs) as { found: number }).found === 1,

    /** Ends the visibility timeouts and delays that are over. */
    wake(nowMs: number): void {
      const due = selectDue.all(nowMs) as unknown as { sequence_number: number; group_key: string }[];
      for (const { sequence_number } of due) wakeOne.run(sequence_number);
      for (const group of new Set(due.map(({ group_key }) => group_key))) promoteOldest.run(group);
    },

    take(maxGroups: number, maxPerGroup: number, visibleAt: number): MessageRow[] {
      const groups = selectFirst.all(maxGroups) as unknown as { group_key: string }[];
      return groups.flatMap(({ group_key }) =>
        (takeSome.all(visibleAt, group_key, maxPerGroup) as unknown as MessageRow[]).sort(
          (a, b) => a.sequence_number - b.sequence_number,
        ),
      );
    },

    /** After messages of the group have left: puts it in line again, if nothing of it is taken. */
    promote(group: string): void {
      promoteOldest.run(group);
    },

    /** The message, and with it its group, cannot be had before `visibleAt`. */
    putOff(sequenceNumber: number, receives: number, visibleAt: number): void {
      const row = putOffOne.get(visibleAt, sequenceNumber, receives) as { group_key: string } | undefined;
      // Its time may have been over, and the group in line again.
      if (row) demote.run(row.group_key);
    },
  };
}

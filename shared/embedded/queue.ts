import type { ChangedAdvertsQueue, DeadLetters } from '../../functions/drain/ports.ts';
import type { Inbox, ReceiveOptions, Settlement, Settler, Verdict } from '../../functions/fan-out/ports.ts';
import type { ChangedAdvert } from '../contract/messages.ts';
import type { Counts, EmbeddedBooks } from './books.ts';
import type { EmbeddedDeadLetters } from './dead-letters.ts';
import { deliveryNamed, deliveryOf, type MessageRow } from './deliveries.ts';
import { createMessageGroups } from './message-groups.ts';
import type { Store } from './store.ts';

/** As long as SQS remembers a deduplication ID. */
const dedupWindowMs = 5 * 60_000;

export interface QueueParts {
  readonly store: Store;
  readonly books: EmbeddedBooks;
  readonly deadLetters: EmbeddedDeadLetters;
  readonly clock: { now(): number };
}

export type EmbeddedQueue = ChangedAdvertsQueue & DeadLetters & Inbox & Settler;

interface Leaver {
  readonly group_key: string;
  readonly partner_account: string;
  readonly generation: number;
}

/**
 * The queue between drain and fan-out, in the state file: FIFO by advert, with the visibility timeouts, receive counts
 * and deduplication of SQS. Sending, receiving and settling cost O(log n) of the messages waiting.
 */
export function createQueue({ store, books, deadLetters, clock }: QueueParts): EmbeddedQueue {
  const groups = createMessageGroups(store);
  const rememberKey = store.prepare(
    `INSERT INTO sent_keys (key, sent_at) VALUES (?1, ?2)
     ON CONFLICT (key) DO UPDATE SET sent_at = ?2 WHERE sent_at <= ?2 - ${dedupWindowMs}`,
  );
  const forgetKeys = store.prepare(
    'DELETE FROM sent_keys WHERE key IN (SELECT key FROM sent_keys WHERE sent_at <= ? ORDER BY sent_at LIMIT ?)',
  );
  const remove = store.prepare(
    `DELETE FROM messages WHERE sequence_number = ? AND receives = ?
     RETURNING group_key, partner_account, generation`,
  );

  function accept(messages: readonly ChangedAdvert[]): void {
    const now = clock.now();
    const counts = createTally();
    for (const message of messages) {
      if (rememberKey.run(message.key, now).changes === 0) continue;
      groups.add(message, now);
      counts.add(message.partnerAccount, message.generation, { listed: 1, inFlight: 1 });
    }
    counts.enter(books);
    // Twice as many as can have come, so that what is old goes even when sending stops for a while.
    forgetKeys.run(now - dedupWindowMs, 2 * messages.length);
  }

  function receive({ maxGroups, maxPerGroup, visibilityMs }: ReceiveOptions): MessageRow[] {
    const now = clock.now();
    groups.wake(now);
    return groups.take(maxGroups, maxPerGroup, now + visibilityMs);
  }

  function settle(settlements: readonly Settlement[]): void {
    const counts = createTally();
    const touched = new Set<string>();
    for (const { delivery, verdict } of settlements) {
      const { sequenceNumber, receives } = deliveryNamed(delivery.id);
      if (verdict.kind === 'again') {
        groups.putOff(sequenceNumber, receives, clock.now() + verdict.delayMs);
        continue;
      }
      // No row: another delivery has followed this one, and what it says goes.
      const left = remove.get(sequenceNumber, receives) as Leaver | undefined;
      if (!left) continue;
      touched.add(left.group_key);
      counts.add(left.partner_account, left.generation, countsOf(verdict));
      if (verdict.kind === 'dead-letter') {
        deadLetters.add(verdict.letter, left.partner_account, left.generation);
      }
    }
    for (const group of touched) groups.promote(group);
    counts.enter(books);
  }

  return {
    async send(messages) {
      if (messages.length > 0) await store.write(() => accept(messages));
      return new Set();
    },
    depth: async (partnerAccount) => books.depth(partnerAccount),
    sendMalformed: deadLetters.sendMalformed,
    async receive(options) {
      // Asked many times a second, and mostly in vain: that costs no write.
      if (!store.read(() => groups.hasAny(clock.now()))) return [];
      return (await store.write(() => receive(options))).map(deliveryOf);
    },
    async settle(settlements) {
      if (settlements.length > 0) await store.write(() => settle(settlements));
    },
  };
}

function countsOf(verdict: Exclude<Verdict, { kind: 'again' }>): Counts {
  switch (verdict.kind) {
    case 'done':
      return { [verdict.outcome]: 1, inFlight: -1 };
    case 'dead-letter':
      return { deadLettered: 1, inFlight: -1 };
    case 'forgotten':
      return { listed: -1, inFlight: -1 };
  }
}

/** Sums what one transaction counts, so that each entry of the books is written once. */
function createTally() {
  const entries = new Map<string, { partnerAccount: string; generation: number; counts: Counts }>();
  return {
    add(partnerAccount: string, generation: number, counts: Counts): void {
      const key = `${partnerAccount}/${generation}`;
      const entry = entries.get(key) ?? { partnerAccount, generation, counts: {} };
      entries.set(key, entry);
      for (const [name, count] of Object.entries(counts) as [keyof Counts, number][]) {
        entry.counts[name] = (entry.counts[name] ?? 0) + count;
      }
    },
    enter(books: EmbeddedBooks): void {
      for (const { partnerAccount, generation, counts } of entries.values()) {
        books.add(partnerAccount, generation, counts);
      }
    },
  };
}

import type { ChangedAdvert } from '../../contract/messages.ts';
import { createHeap } from './heap.ts';

/** What waits for one another: the messages of one advert, in whichever queue. */
export const messageGroupOf = ({
  partnerAccount,
  advertId,
}: Pick<ChangedAdvert, 'partnerAccount' | 'advertId'>): string => `${partnerAccount}/${advertId}`;

/** What is kept of a message while it is in the queue. */
export interface Queued {
  readonly sequenceNumber: number;
  receives: number;
  /** When it can be had again; only while it is handed out or put off. */
  visibleAt?: number;
  /** Whether a worker has it now; put off by a verdict, it is with nobody. */
  handedOut: boolean;
}

interface Group<T extends Queued> {
  readonly key: string;
  /** In the order of their sequence numbers. */
  readonly messages: Map<number, T>;
  /** Those handed out or put off: while there is one, the group hands out nothing. */
  readonly taken: Set<T>;
}

export interface GroupOptions<T extends Queued> {
  /** Which messages wait for one another. */
  readonly groupOf: (queued: T) => string;
  /** The group whose first message has the lowest rank is next. */
  readonly rankOf: (queued: T) => number;
}

/** So many timers may have become untrue before they are cleared away. */
const maxStaleTimers = 1_000;

/** The order in which messages are handed out: groups side by side, within a group one after the other. */
export function createMessageGroups<T extends Queued>({ groupOf, rankOf }: GroupOptions<T>) {
  const groups = new Map<string, Group<T>>();
  // Entries of both heaps may have become untrue since; each is looked at again when its turn comes.
  const ready = createHeap<{ rank: number; group: Group<T>; first: T }>();
  const timers = createHeap<{ rank: number; group: Group<T> }>();

  const firstOf = (group: Group<T>): T | undefined => group.messages.values().next().value;

  function visibleAtOf({ taken }: Group<T>): number {
    let last = 0;
    for (const { visibleAt = 0 } of taken) last = Math.max(last, visibleAt);
    return last;
  }

  /** Puts the group where it belongs: in line when none of it is taken, else among those that wait for a moment. */
  function place(group: Group<T>): void {
    if (group.taken.size > 0) {
      timers.push({ rank: visibleAtOf(group), group });
      // A visibility timeout is long, and most messages leave before it ends.
      if (timers.size() > 2 * groups.size + maxStaleTimers) {
        timers.keep(({ rank, group: one }) => one.taken.size > 0 && rank === visibleAtOf(one));
      }
      return;
    }
    const first = firstOf(group);
    if (first) ready.push({ rank: rankOf(first), group, first });
    else groups.delete(group.key);
  }

  function wake(nowMs: number): void {
    for (let timer = timers.peek(); timer && timer.rank <= nowMs; timer = timers.peek()) {
      timers.pop();
      const { group } = timer;
      if (group.taken.size === 0 || visibleAtOf(group) > nowMs) continue;
      for (const queued of group.taken) {
        delete queued.visibleAt;
        queued.handedOut = false;
      }
      group.taken.clear();
      place(group);
    }
  }

  function groupHolding(queued: T): Group<T> {
    const key = groupOf(queued);
    const group = groups.get(key) ?? { key, messages: new Map(), taken: new Set() };
    groups.set(key, group);
    return group;
  }

  return {
    add(queued: T): void {
      const group = groupHolding(queued);
      group.messages.set(queued.sequenceNumber, queued);
      if (queued.visibleAt !== undefined) group.taken.add(queued);
      if (queued.visibleAt !== undefined || group.messages.size === 1) place(group);
    },

    take(maxGroups: number, maxPerGroup: number, nowMs: number, visibleAt: number): T[] {
      wake(nowMs);
      const handedOut: T[] = [];
      for (let count = 0; count < maxGroups; ) {
        const entry = ready.pop();
        if (!entry) break;
        const { group } = entry;
        if (group.taken.size > 0 || firstOf(group) !== entry.first) continue;
        count += 1;
        for (const queued of group.messages.values()) {
          if (group.taken.size === maxPerGroup) break;
          queued.receives += 1;
          queued.visibleAt = visibleAt;
          queued.handedOut = true;
          group.taken.add(queued);
          handedOut.push(queued);
        }
        place(group);
      }
      return handedOut;
    },

    remove(queued: T): void {
      const group = groupHolding(queued);
      group.messages.delete(queued.sequenceNumber);
      group.taken.delete(queued);
      place(group);
    },

    /** The message, and with it its group, cannot be had before `visibleAt`. */
    putOff(queued: T, visibleAt: number): void {
      const group = groupHolding(queued);
      queued.visibleAt = visibleAt;
      queued.handedOut = false;
      group.taken.add(queued);
      place(group);
    },
  };
}

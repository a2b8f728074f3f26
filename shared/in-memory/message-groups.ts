import type { ChangedAdvert } from '../contract/messages.ts';
import { createHeap } from './heap.ts';

/** A message as it stands in the queue. */
export interface Queued {
  readonly message: ChangedAdvert;
  readonly sequenceNumber: number;
  readonly sentAt: number;
  receives: number;
  /** When it can be had again; only while it is handed out or put off. */
  visibleAt?: number;
  /** Whether a worker has it now; put off by a verdict, it is with nobody. */
  handedOut: boolean;
}

interface Group {
  readonly key: string;
  /** In the order of their sequence numbers. */
  readonly messages: Map<number, Queued>;
  /** Those handed out or put off: while there is one, the group hands out nothing. */
  readonly taken: Set<Queued>;
}

export interface GroupOptions {
  /** Which messages wait for one another. */
  readonly groupOf: (queued: Queued) => string;
  /** The group whose first message has the lowest rank is next. */
  readonly rankOf: (queued: Queued) => number;
}

/** The order in which messages are handed out: groups side by side, within a group one after the other. */
export function createMessageGroups({ groupOf, rankOf }: GroupOptions) {
  const groups = new Map<string, Group>();
  // Entries of both heaps may have become untrue since; each is looked at again when its turn comes.
  const ready = createHeap<{ rank: number; group: Group; first: Queued }>();
  const timers = createHeap<{ rank: number; group: Group }>();

  const firstOf = (group: Group): Queued | undefined => group.messages.values().next().value;

  /** Puts the group where it belongs: in line when none of it is taken, else among those that wait for a moment. */
  function place(group: Group): void {
    if (group.taken.size > 0) {
      timers.push({ rank: Math.max(...[...group.taken].map(({ visibleAt = 0 }) => visibleAt)), group });
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
      if (group.taken.size === 0) continue;
      if ([...group.taken].some(({ visibleAt = 0 }) => visibleAt > nowMs)) continue;
      for (const queued of group.taken) {
        delete queued.visibleAt;
        queued.handedOut = false;
      }
      group.taken.clear();
      place(group);
    }
  }

  function groupHolding(queued: Queued): Group {
    const key = groupOf(queued);
    const group = groups.get(key) ?? { key, messages: new Map(), taken: new Set() };
    groups.set(key, group);
    return group;
  }

  return {
    add(queued: Queued): void {
      const group = groupHolding(queued);
      group.messages.set(queued.sequenceNumber, queued);
      if (group.messages.size === 1) place(group);
    },

    take(maxGroups: number, maxPerGroup: number, nowMs: number, visibleAt: number): Queued[] {
      wake(nowMs);
      const handedOut: Queued[] = [];
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

    remove(queued: Queued): void {
      const group = groupHolding(queued);
      group.messages.delete(queued.sequenceNumber);
      group.taken.delete(queued);
      place(group);
    },

    /** The message, and with it its group, cannot be had before `visibleAt`. */
    putOff(queued: Queued, visibleAt: number): void {
      const group = groupHolding(queued);
      queued.visibleAt = visibleAt;
      queued.handedOut = false;
      group.taken.add(queued);
      place(group);
    },
  };
}

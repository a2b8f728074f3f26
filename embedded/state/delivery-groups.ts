import { isLasting } from '../../shared/domain/clock.ts';

/** No message is hidden for longer: a later time was written before a clock was set back. */
const longestHiddenMs = 15 * 60_000;

export interface Queued {
  readonly sequenceNumber: number;
  /** `messageGroupOf` its message. */
  readonly group: string;
  readonly partnerAccount: string;
  receives: number;
  /** When it may be delivered again, ms since 1970; while this is to come for one message, its group delivers nothing. */
  visibleAt?: number;
}

/**
 * The delivery order of a queue: groups concurrently, the messages of one group in order.
 *
 * @param options.takesTurns partner accounts take turns, so that one with many messages does not delay the others
 */
export function createGroups<T extends Queued>({ takesTurns }: { readonly takesTurns: boolean }) {
  /** Groups by account, the one whose turn is next first, and by name, in the order in which they came. */
  const accounts = new Map<string, Map<string, Set<T>>>();
  const turnOf = ({ partnerAccount }: T): string => (takesTurns ? partnerAccount : '');

  return {
    add(queued: T): void {
      const groups = accounts.get(turnOf(queued)) ?? new Map<string, Set<T>>();
      accounts.set(turnOf(queued), groups);
      groups.set(queued.group, (groups.get(queued.group) ?? new Set()).add(queued));
    },

    take(maxGroups: number, maxPerGroup: number, nowMs: number, visibleAt: number): T[] {
      const turns = [...accounts].map(([account, groups]) => {
        return { account, groups, ready: readyGroups(groups, nowMs) };
      });
      const taken: T[] = [];
      let left = maxGroups;
      for (let turn = turns.shift(); turn && left > 0; turn = turns.shift()) {
        const { value: group } = turn.ready.next();
        if (!group) continue;
        left -= 1;
        for (const queued of group.slice(0, maxPerGroup)) {
          queued.receives += 1;
          queued.visibleAt = visibleAt;
          taken.push(queued);
        }
        // The account that had its turn goes to the end.
        turns.push(turn);
        accounts.delete(turn.account);
        accounts.set(turn.account, turn.groups);
      }
      return taken;
    },

    remove(queued: T): void {
      const account = turnOf(queued);
      const groups = accounts.get(account);
      const group = groups?.get(queued.group);
      group?.delete(queued);
      if (group?.size === 0) groups?.delete(queued.group);
      if (groups?.size === 0) accounts.delete(account);
    },
  };
}

/** The groups of which no message is in flight or delayed; looks at no more of them than are asked for. */
function* readyGroups<T extends Queued>(groups: ReadonlyMap<string, Set<T>>, nowMs: number) {
  for (const messages of groups.values()) {
    const group = [...messages];
    if (!group.some(({ visibleAt = 0 }) => isLasting(visibleAt, longestHiddenMs, nowMs))) yield group;
  }
}

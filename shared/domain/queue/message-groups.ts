import TinyQueue from 'tinyqueue';
import type { ChangedAdvert, DeadLetter } from '../../contract/messages.ts';
import { objectKeyOf } from '../advert-event.ts';
import { toInstant } from '../clock.ts';

/** Orders the deliveries of a queue: a later message, or a later delivery of the same message, is greater. */
export type Position = string;

/**
 * @param sequenceNumber the queue's number for the message, in decimal digits; it rises within a message group
 * @param receiveCount how often the message has been delivered, including this delivery
 */
export function positionOf(sequenceNumber: string, receiveCount: number): Position {
  // SQS numbers have 20 digits; padding keeps the shorter numbers of emulators in order when compared as text.
  return `${sequenceNumber.padStart(20, '0')}:${String(receiveCount).padStart(6, '0')}`;
}

/** Fault kind of a message that the queue itself dead-lettered. */
export const movedByQueue = 'moved-by-queue';

/** The dead letter that a queue other than SQS writes when it dead-letters a message itself. */
export const movedLetter = (message: ChangedAdvert | null, receives: number, nowMs: number): DeadLetter => ({
  partnerAccount: message?.partnerAccount ?? null,
  advertId: message && objectKeyOf(message),
  fault: movedByQueue,
  reason: `the queue gave it up after ${receives - 1} deliveries, none of which came to an end`,
  at: toInstant(nowMs),
  receives: receives - 1,
  message,
});

/** Group ID of a message in every queue: messages of one advert, or other object, are delivered in order. */
export const messageGroupOf = (
  message: Pick<ChangedAdvert, 'partnerAccount' | 'feed' | 'advertId'>,
): string => `${message.partnerAccount}/${objectKeyOf(message)}`;

/** A message in the queue, with the fields that decide the order of delivery. */
export interface Queued {
  readonly sequenceNumber: number;
  receives: number;
  /** When it may be delivered again, ms since 1970; set only while it is in flight or delayed. */
  visibleAt?: number;
}

interface Group<T extends Queued> {
  readonly key: string;
  /** By sequence number, ascending. */
  readonly messages: Map<number, T>;
  /** Messages in flight or delayed: while there is one, the group delivers nothing. */
  readonly hidden: Set<T>;
}

/** A group ready for delivery; outdated when its first message has changed. */
interface Ready<T extends Queued> {
  readonly group: Group<T>;
  readonly first: T;
}

/** When to check a group again; outdated when `at` is no longer the end of its hidden messages. */
interface Timer<T extends Queued> {
  readonly at: number;
  readonly group: Group<T>;
}

export interface GroupOptions<T extends Queued> {
  /** Messages with the same result are delivered one after the other. */
  readonly groupOf: (queued: T) => string;
  /** Accounts take turns, so that one with many messages does not delay the others. Default: no turns. */
  readonly accountOf?: (queued: T) => string;
}

/** Number of outdated timers that may collect before they are removed. */
const maxStaleTimers = 1_000;

/** The delivery order of a queue: groups concurrently, the messages of one group in order. */
export class MessageGroups<T extends Queued> {
  readonly #options: GroupOptions<T>;
  readonly #groups = new Map<string, Group<T>>();
  // Entries of both may be outdated, and are checked when their turn comes.
  /** By account, the one whose turn is next first; the group with the oldest message comes first. */
  readonly #ready = new Map<string, TinyQueue<Ready<T>>>();
  #timers = new TinyQueue<Timer<T>>([], byTime);

  constructor(options: GroupOptions<T>) {
    this.#options = options;
  }

  add(queued: T): void {
    const group = this.#groupOf(queued);
    group.messages.set(queued.sequenceNumber, queued);
    if (queued.visibleAt !== undefined) group.hidden.add(queued);
    if (queued.visibleAt !== undefined || group.messages.size === 1) this.#place(group);
  }

  /** Delivers messages and hides them until `visibleAt`. */
  take(maxGroups: number, maxPerGroup: number, nowMs: number, visibleAt: number): T[] {
    this.#endTimers(nowMs);
    const handedOut: T[] = [];
    for (let count = 0; count < maxGroups; ) {
      const group = this.#nextReady();
      if (!group) break;
      count += 1;
      for (const queued of group.messages.values()) {
        if (group.hidden.size === maxPerGroup) break;
        queued.receives += 1;
        queued.visibleAt = visibleAt;
        group.hidden.add(queued);
        handedOut.push(queued);
      }
      this.#place(group);
    }
    return handedOut;
  }

  remove(queued: T): void {
    const group = this.#groupOf(queued);
    group.messages.delete(queued.sequenceNumber);
    group.hidden.delete(queued);
    this.#place(group);
  }

  /** Hides the message, and with it its group, until `visibleAt`. */
  putOff(queued: T, visibleAt: number): void {
    const group = this.#groupOf(queued);
    queued.visibleAt = visibleAt;
    group.hidden.add(queued);
    this.#place(group);
  }

  #groupOf(queued: T): Group<T> {
    const key = this.#options.groupOf(queued);
    const group = this.#groups.get(key) ?? { key, messages: new Map(), hidden: new Set() };
    this.#groups.set(key, group);
    return group;
  }

  /** Marks the group as ready, or sets a timer while it has hidden messages. */
  #place(group: Group<T>): void {
    if (group.hidden.size > 0) {
      this.#timers.push({ at: endOf(group), group });
      // Removes outdated timers: a visibility timeout is long, and most messages are settled before it ends.
      if (this.#timers.length > 2 * this.#groups.size + maxStaleTimers) {
        const current = this.#timers.data.filter(
          ({ at, group }) => group.hidden.size > 0 && at === endOf(group),
        );
        this.#timers = new TinyQueue(current, byTime);
      }
      return;
    }
    const first = firstOf(group);
    if (first) this.#readyOf(first).push({ group, first });
    else this.#groups.delete(group.key);
  }

  #readyOf(first: T): TinyQueue<Ready<T>> {
    const account = this.#options.accountOf?.(first) ?? '';
    const ready = this.#ready.get(account) ?? new TinyQueue<Ready<T>>([], byAge);
    this.#ready.set(account, ready);
    return ready;
  }

  /** The next group of the account that was served least recently; that account's next turn is the last. */
  #nextReady(): Group<T> | undefined {
    for (const [account, ready] of this.#ready) {
      for (let entry = ready.pop(); entry; entry = ready.pop()) {
        const { group, first } = entry;
        if (group.hidden.size > 0 || firstOf(group) !== first) continue;
        this.#ready.delete(account);
        this.#ready.set(account, ready);
        return group;
      }
    }
    return undefined;
  }

  #endTimers(nowMs: number): void {
    for (let timer = this.#timers.peek(); timer && timer.at <= nowMs; timer = this.#timers.peek()) {
      this.#timers.pop();
      const { group } = timer;
      if (group.hidden.size === 0 || endOf(group) > nowMs) continue;
      for (const queued of group.hidden) delete queued.visibleAt;
      group.hidden.clear();
      this.#place(group);
    }
  }
}

const byAge = (a: Ready<Queued>, b: Ready<Queued>): number => a.first.sequenceNumber - b.first.sequenceNumber;

const byTime = (a: { readonly at: number }, b: { readonly at: number }): number => a.at - b.at;

const firstOf = <T extends Queued>(group: Group<T>): T | undefined => group.messages.values().next().value;

/** When the last hidden message of the group may be delivered again. */
function endOf<T extends Queued>({ hidden }: Group<T>): number {
  let end = 0;
  for (const { visibleAt = 0 } of hidden) end = Math.max(end, visibleAt);
  return end;
}

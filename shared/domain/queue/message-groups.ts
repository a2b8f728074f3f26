import type { ChangedAdvert } from '../../contract/messages.ts';
import { objectKeyOf } from '../advert-event.ts';

/** Orders the deliveries of a queue: a later message, or a later delivery of the same message, is greater. */
export type Position = string;

/** @param sequenceNumber decimal digits; rises within a message group */
export function positionOf(sequenceNumber: string, receiveCount: number): Position {
  // SQS numbers have 20 digits; padding keeps the shorter numbers of emulators in order when compared as text.
  return `${sequenceNumber.padStart(20, '0')}:${String(receiveCount).padStart(6, '0')}`;
}

/** Group ID of a message in every queue: messages of one advert, or other object, are delivered in order. */
export const messageGroupOf = (
  message: Pick<ChangedAdvert, 'partnerAccount' | 'feed' | 'advertId'>,
): string => `${message.partnerAccount}/${objectKeyOf(message)}`;

export interface Queued {
  readonly sequenceNumber: number;
  /** {@link messageGroupOf} its message. */
  readonly group: string;
  readonly partnerAccount: string;
  receives: number;
  /** When it may be delivered again, ms since 1970; set only while it is in flight or delayed. */
  visibleAt?: number;
}

interface Group<T extends Queued> {
  readonly key: string;
  /** By sequence number, ascending. */
  readonly messages: Set<T>;
  /** Messages in flight or delayed: while there is one, the group delivers nothing. */
  readonly hidden: Set<T>;
  /** Where it waits for its turn, by the number of its first message. */
  ready?: Group<T>[] | undefined;
  order: number;
}

/** The delivery order of a queue: groups concurrently, the messages of one group in order. */
export class MessageGroups<T extends Queued> {
  readonly #takesTurns: boolean;
  readonly #groups = new Map<string, Group<T>>();
  /** By account, the one whose turn is next first; the group with the oldest message comes first. */
  readonly #ready = new Map<string, Group<T>[]>();
  readonly #hidden = new Set<Group<T>>();
  /** Before this moment, no hidden group becomes ready. */
  #nextEndMs = Number.POSITIVE_INFINITY;

  /** @param options.takesTurns partner accounts take turns, so that one with many messages does not delay the others */
  constructor({ takesTurns }: { readonly takesTurns: boolean }) {
    this.#takesTurns = takesTurns;
  }

  add(queued: T): void {
    const group = this.#groupOf(queued);
    group.messages.add(queued);
    if (queued.visibleAt !== undefined) group.hidden.add(queued);
    if (queued.visibleAt !== undefined || group.messages.size === 1) this.#place(group);
  }

  take(maxGroups: number, maxPerGroup: number, nowMs: number, visibleAt: number): T[] {
    this.#showHidden(nowMs);
    const taken: T[] = [];
    for (let count = 0; count < maxGroups; count += 1) {
      const group = this.#nextReady();
      if (!group) break;
      for (const queued of group.messages) {
        if (group.hidden.size === maxPerGroup) break;
        queued.receives += 1;
        queued.visibleAt = visibleAt;
        group.hidden.add(queued);
        taken.push(queued);
      }
      this.#place(group);
    }
    return taken;
  }

  remove(queued: T): void {
    const group = this.#groupOf(queued);
    group.messages.delete(queued);
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
    const key = queued.group;
    const group = this.#groups.get(key) ?? { key, messages: new Set(), hidden: new Set(), order: 0 };
    this.#groups.set(key, group);
    return group;
  }

  /** Puts the group where it belongs after its messages have changed. */
  #place(group: Group<T>): void {
    group.ready?.splice(group.ready.indexOf(group), 1);
    group.ready = undefined;
    if (group.hidden.size > 0) {
      this.#hidden.add(group);
      this.#nextEndMs = Math.min(this.#nextEndMs, endOf(group));
      return;
    }
    this.#hidden.delete(group);
    const [first] = group.messages;
    if (!first) {
      this.#groups.delete(group.key);
      return;
    }
    const account = this.#takesTurns ? first.partnerAccount : '';
    const ready = this.#ready.get(account) ?? [];
    this.#ready.set(account, ready);
    // A new message is the newest, so the search nearly always ends at once.
    group.order = first.sequenceNumber;
    const before = ready.findLastIndex(({ order }) => order < group.order);
    ready.splice(before + 1, 0, group);
    group.ready = ready;
  }

  /** The next group of the account that was served least recently; that account's next turn is the last. */
  #nextReady(): Group<T> | undefined {
    for (const [account, ready] of this.#ready) {
      const group = ready.shift();
      if (!group) continue;
      group.ready = undefined;
      this.#ready.delete(account);
      this.#ready.set(account, ready);
      return group;
    }
    return undefined;
  }

  #showHidden(nowMs: number): void {
    if (nowMs < this.#nextEndMs) return;
    this.#nextEndMs = Number.POSITIVE_INFINITY;
    for (const group of this.#hidden) {
      const endMs = endOf(group);
      if (endMs > nowMs) {
        this.#nextEndMs = Math.min(this.#nextEndMs, endMs);
        continue;
      }
      for (const queued of group.hidden) delete queued.visibleAt;
      group.hidden.clear();
      this.#place(group);
    }
  }
}

/** When the last hidden message of the group may be delivered again. */
function endOf<T extends Queued>({ hidden }: Group<T>): number {
  let end = 0;
  for (const { visibleAt = 0 } of hidden) end = Math.max(end, visibleAt);
  return end;
}

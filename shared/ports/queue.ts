import type { ChangedAdvert, DeadLetter, UnreadMessage } from '../contract/messages.ts';
import type { Position } from './message-groups.ts';
import type { Etag, Key } from './store.ts';

export interface Delivery extends Partial<UnreadMessage> {
  /** Identifies the delivery when it is settled: a receipt handle or a message ID. */
  readonly id: string;
  /** `undefined` when the body does not match the contract. */
  readonly message?: ChangedAdvert;
  readonly position: Position;
  /** Number of deliveries, including this one. */
  readonly receives: number;
  /** When the queue accepted the message, ms since 1970; begins again with a release or redrive. */
  readonly sentAt: number;
}

/** The outcome of a listed ID, for the books. */
export type Outcome = 'events' | 'unchanged' | 'coalesced' | 'unavailable';

export type Verdict =
  | { readonly kind: 'done'; readonly outcome: Outcome }
  /** The generation was forgotten: the message leaves the queue and the books. */
  | { readonly kind: 'forgotten' }
  | { readonly kind: 'retry'; readonly delayMs: number }
  /**
   * The message leaves the queue but stays in the books, and waits aside until the drain puts it back: when nothing keeps
   * its account, and its own wait is over. `failedAt`: it failed like the other adverts of its account; it comes back when
   * one of them is answered well, and until then they try again one by one.
   */
  | { readonly kind: 'hold'; readonly wait?: Wait; readonly failedAt?: number }
  | { readonly kind: 'dead-letter'; readonly deadLetter: DeadLetter };

/** When it ends, ms since 1970, and its length, for clocks may be set. */
export interface Wait {
  readonly dueMs: number;
  readonly forMs: number;
}

export interface Settlement {
  readonly delivery: Delivery;
  readonly verdict: Verdict;
}

export interface ReceiveOptions {
  /** Maximum number of message groups (adverts) per call. */
  readonly maxGroups: number;
  /** Maximum number of messages per group; they are delivered together, oldest first. */
  readonly maxPerGroup: number;
  readonly visibilityMs: number;
}

/** A queue that the bridge polls for work and settles; on AWS, the event source mapping does. */
export interface Inbox {
  /** Messages of groups that have none in flight; empty if there are none now. */
  receive(options: ReceiveOptions): Promise<Delivery[]>;
  /** Carries out the verdicts. If a verdict cannot be carried out, its message is delivered again. */
  settle(settlements: readonly Settlement[]): Promise<void>;
}

/** A message that is stored as a row outside the queue (shared/state/aside.ts), or returns to the queue. */
export interface MessageAside {
  readonly key: Key;
  readonly etag: Etag;
  readonly message: ChangedAdvert;
  /** How long it waits, if it failed. */
  readonly wait?: Wait;
}

export interface ChangedAdvertsQueue {
  /** FIFO per advert (or other object) of an account. @returns the keys of messages that were not accepted */
  send(messages: readonly ChangedAdvert[]): Promise<ReadonlySet<string>>;
  /** Sends messages aside, with their keys; an etag once within five minutes. @returns the etags that were not accepted */
  sendAgain(messages: readonly MessageAside[]): Promise<ReadonlySet<Etag>>;
  /** Number of messages of the partner account in the queue, of all its feeds, without those aside; may be an upper bound. */
  depth(partnerAccount: string): Promise<number>;
  /** The messages of an advert in the queue, oldest first, with those in flight. Absent: as SQS, it cannot be inspected. */
  ofAdvert?(partnerAccount: string, advertId: string): Promise<readonly WaitingMessage[]>;
}

export interface WaitingMessage {
  readonly message: ChangedAdvert;
  /** `aside`: outside the queue, until the drain puts it back. */
  readonly place: 'queue' | 'aside';
  /** Number of deliveries; 0 for a message aside, whose count starts again when it is put back. */
  readonly receives: number;
  /** Hidden until this moment, ms since 1970. */
  readonly until?: number;
}

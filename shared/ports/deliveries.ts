import type { ChangedAdvert, DeadLetter, Subject } from '../contract/messages.ts';
import type { Position } from '../domain/queue/position.ts';

/** One delivery of one message. */
export interface Delivery {
  /** What settles it: a receipt handle, a message ID. */
  readonly id: string;
  /** `undefined` when the body is not of the contract; `flaw` then says why. */
  readonly message?: ChangedAdvert;
  readonly flaw?: string;
  /** A newer bridge sent it: it waits in the queue for a worker of that version. */
  readonly isNewer?: true;
  /** What a body that is not of the contract is about, as far as it can be read. */
  readonly about?: Subject;
  readonly position: Position;
  /** How often it has been delivered, this time included. */
  readonly receives: number;
  /** When the queue accepted it, ms since 1970. A release from parking and a redrive send it anew, so its age begins again. */
  readonly sentAt: number;
}

/** What became of a listed ID, for the books. */
export type Outcome = 'events' | 'unchanged' | 'coalesced' | 'unavailable';

/** What is to become of a delivery. */
export type Verdict =
  | { readonly kind: 'done'; readonly outcome: Outcome }
  /** Of a generation that was forgotten: leaves the queue and the books. */
  | { readonly kind: 'forgotten' }
  | { readonly kind: 'retry'; readonly delayMs: number }
  /** Leaves the queue, but not the books, and waits outside until it is released (functions/drain/release.ts). */
  | { readonly kind: 'park' }
  | { readonly kind: 'dead-letter'; readonly letter: DeadLetter };

export interface Settlement {
  readonly delivery: Delivery;
  readonly verdict: Verdict;
}

/** Carries out the verdicts. A message whose verdict cannot be carried out is delivered again. */
export interface Settler {
  settle(settlements: readonly Settlement[]): Promise<void>;
}

export interface ReceiveOptions {
  /** At most so many message groups (adverts) at once. */
  readonly maxGroups: number;
  /** At most so many messages of one group; they are delivered together, oldest first. */
  readonly maxPerGroup: number;
  readonly visibilityMs: number;
}

/** A queue that is polled for work. On AWS the event source mapping polls, and the handler gets the batch. */
export interface Inbox {
  /** Messages of groups that have none in flight. Empty when there are none now. */
  receive(options: ReceiveOptions): Promise<Delivery[]>;
}

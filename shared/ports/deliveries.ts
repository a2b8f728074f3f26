import type { ChangedAdvert, DeadLetter, Subject } from '../contract/messages.ts';
import type { Position } from '../domain/queue/position.ts';

/** One delivery of one message. */
export interface Delivery {
  /** What settles it: a receipt handle, a message ID. */
  readonly id: string;
  /** `undefined` when the body is not of the contract; `flaw` then says why. */
  readonly message?: ChangedAdvert;
  readonly flaw?: string;
  /** What it was about, where the body tells that much. */
  readonly about?: Subject;
  readonly position: Position;
  /** How often it has been delivered, this time included. */
  readonly receives: number;
  /** When the queue accepted it, ms since 1970. */
  readonly sentAt: number;
}

/** What became of a listed ID, for the books. */
export type Outcome = 'events' | 'unchanged' | 'coalesced' | 'unavailable';

/** What is to become of a delivery. */
export type Verdict =
  | { readonly kind: 'done'; readonly outcome: Outcome }
  /** Of a generation that was forgotten: leaves the queue, and is in nobody's books. */
  | { readonly kind: 'forgotten' }
  | { readonly kind: 'retry'; readonly delayMs: number }
  /** Leaves the queue, but not the books, and waits outside until it is released (functions/drain/release.ts). */
  | { readonly kind: 'park' }
  | { readonly kind: 'dead-letter'; readonly letter: DeadLetter };

export interface Settlement {
  readonly delivery: Delivery;
  readonly verdict: Verdict;
}

/** Carries out the verdicts. Where one cannot be carried out, the message comes back. */
export interface Settler {
  settle(settlements: readonly Settlement[]): Promise<void>;
}

export interface ReceiveOptions {
  /** Most message groups (adverts) to take at once. */
  readonly maxGroups: number;
  /** Most messages of one group; they are handed out together, oldest first. */
  readonly maxPerGroup: number;
  readonly visibilityMs: number;
}

/** A queue that is asked for work. On AWS the event source mapping does the asking, and the handler gets the batch. */
export interface Inbox {
  /** Messages whose group has none in flight. Empty when nothing is waiting that may be had now. */
  receive(options: ReceiveOptions): Promise<Delivery[]>;
}

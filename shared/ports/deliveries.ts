import type { ChangedAdvert, DeadLetter, Subject } from '../contract/messages.ts';
import type { Position } from '../domain/queue/message-groups.ts';

/** One delivery of one message. */
export interface Delivery {
  /** Identifies the delivery when it is settled: a receipt handle or a message ID. */
  readonly id: string;
  /** `undefined` when the body does not match the contract; `flaw` then says why. */
  readonly message?: ChangedAdvert;
  readonly flaw?: string;
  /** A newer bridge sent the message; it waits in the queue for a worker of that version. */
  readonly isNewer?: true;
  /** For a body that does not match the contract: what it is about, as far as it can be read. */
  readonly about?: Subject;
  readonly position: Position;
  /** Number of deliveries, including this one. */
  readonly receives: number;
  /**
   * When the queue accepted the message, ms since 1970. A release and a redrive send it as a new message,
   * so its age starts again.
   */
  readonly sentAt: number;
}

/** The outcome of a listed ID, for the books. */
export type Outcome = 'events' | 'unchanged' | 'coalesced' | 'unavailable';

/** What to do with a delivery. */
export type Verdict =
  | { readonly kind: 'done'; readonly outcome: Outcome }
  /** The generation was forgotten: the message leaves the queue and the books. */
  | { readonly kind: 'forgotten' }
  | { readonly kind: 'retry'; readonly delayMs: number }
  /**
   * The message leaves the queue but stays in the books, and waits aside until the drain puts it back
   * (functions/drain/release.ts).
   */
  | { readonly kind: 'hold' }
  | { readonly kind: 'dead-letter'; readonly letter: DeadLetter };

export interface Settlement {
  readonly delivery: Delivery;
  readonly verdict: Verdict;
}

/** Carries out the verdicts. If a verdict cannot be carried out, its message is delivered again. */
export interface Settler {
  settle(settlements: readonly Settlement[]): Promise<void>;
}

export interface ReceiveOptions {
  /** Maximum number of message groups (adverts) per call. */
  readonly maxGroups: number;
  /** Maximum number of messages per group; they are delivered together, oldest first. */
  readonly maxPerGroup: number;
  readonly visibilityMs: number;
}

/** A queue that the bridge polls for work. (On AWS, the event source mapping polls and passes batches to the handler.) */
export interface Inbox {
  /** Receives messages of groups that have no messages in flight. Empty if there are none now. */
  receive(options: ReceiveOptions): Promise<Delivery[]>;
}

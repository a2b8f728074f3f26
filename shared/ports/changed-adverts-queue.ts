import type { ChangedAdvert } from '../contract/messages.ts';

/** A message that waits outside the queue, or returns to it. */
export interface HeldMessage {
  /** Sorts the messages of an account in queue order; the same for every delivery of one message. */
  readonly id: string;
  readonly message: ChangedAdvert;
}

export interface ChangedAdvertsQueue {
  /**
   * Sends in batches; FIFO, one group per advert (or other object) of a partner account.
   *
   * @returns the keys of messages that were not accepted
   */
  send(messages: readonly ChangedAdvert[]): Promise<ReadonlySet<string>>;
  /**
   * Puts messages that were aside back, as new messages with the same keys: their age starts again. A message of the same
   * ID is accepted once within five minutes.
   *
   * @returns the IDs of messages that were not accepted
   */
  sendAgain(held: readonly HeldMessage[]): Promise<ReadonlySet<string>>;
  /** Number of waiting messages of one feed (default: adverts) of the partner account; may be an upper bound. */
  depth(partnerAccount: string): Promise<number>;
}

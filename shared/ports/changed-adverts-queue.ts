import type { ChangedAdvert } from '../contract/messages.ts';
import type { Etag, Key } from './store.ts';

/** A message that is stored as a row outside the queue (shared/state/aside.ts), or returns to the queue. */
export interface MessageAside {
  readonly key: Key;
  readonly etag: Etag;
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
   * Puts messages that were aside back, as new messages with the same keys: their age starts again. A row with the same
   * etag is accepted once within five minutes.
   *
   * @returns the etags of messages that were not accepted
   */
  sendAgain(messages: readonly MessageAside[]): Promise<ReadonlySet<Etag>>;
  /** Number of waiting messages of one feed (default: adverts) of the partner account; may be an upper bound. */
  depth(partnerAccount: string): Promise<number>;
}

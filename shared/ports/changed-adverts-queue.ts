import type { ChangedAdvert } from '../contract/messages.ts';

export interface ChangedAdvertsQueue {
  /**
   * Sends in batches; FIFO, one group per advert (or other object) of a partner account.
   *
   * @returns the keys of messages that were not accepted
   */
  send(messages: readonly ChangedAdvert[]): Promise<ReadonlySet<string>>;
  /** Number of waiting messages of one feed (default: adverts) of the partner account; may be an upper bound. */
  depth(partnerAccount: string): Promise<number>;
}

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

/** A message that has no outcome yet. */
export interface WaitingMessage {
  readonly message: ChangedAdvert;
  /** `aside`: outside the queue, until the hold of its account, or of the bridge, ends. */
  readonly place: 'queue' | 'aside';
  /** Number of deliveries; 0 for a message aside, whose count starts again when it is put back. */
  readonly receives: number;
  /** Hidden until this moment, ms since 1970. */
  readonly until?: number;
}

/**
 * Reads messages without receiving them. Only for people's commands, because it may read all messages of the partner
 * account.
 */
export interface WaitingMessages {
  /**
   * The messages of one advert, in all generations, oldest first. If the queue cannot be inspected (SQS), only messages
   * aside are found.
   */
  ofAdvert(partnerAccount: string, advertId: string): Promise<readonly WaitingMessage[]>;
}

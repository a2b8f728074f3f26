import type { ChangedAdvert } from '../contract/messages.ts';

/** Parked messages: fan-out puts them outside the queue until a manual action or the end of a pause. */
export interface ParkedMessages {
  /** Partner accounts that have parked messages. Strongly consistent. */
  accounts(): Promise<readonly string[]>;
  /**
   * Puts the account's messages back into the queue, oldest first, with the same keys; their age starts again.
   *
   * @returns the number of messages
   */
  release(partnerAccount: string, options: ReleaseOptions): Promise<number>;
}

export interface ReleaseOptions {
  /** Maximum number of messages to put back. */
  readonly most: number;
  /** Ms since 1970: no further batch begins after this moment. */
  readonly deadlineMs: number;
}

/** A message that has no outcome yet. */
export interface WaitingMessage {
  readonly message: ChangedAdvert;
  /** `parked`: outside the queue, until a manual action or the end of a pause. */
  readonly place: 'queue' | 'parked';
  /** Number of deliveries; 0 for a parked message, whose count starts again when it is put back. */
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
   * The messages of one advert, or of an object of another `feed`, in all generations, oldest first. If the queue cannot
   * be inspected (SQS), only parked messages are found.
   */
  ofAdvert(partnerAccount: string, advertId: string): Promise<readonly WaitingMessage[]>;
}

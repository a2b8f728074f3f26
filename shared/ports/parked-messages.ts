import type { FeedName } from '../contract/feeds.ts';
import type { ChangedAdvert } from '../contract/messages.ts';

/** Messages that wait outside the queue for a person or the end of a pause; fan-out parks them. */
export interface ParkedMessages {
  /** Partner accounts that have some. Strongly consistent. */
  accounts(): Promise<readonly string[]>;
  /**
   * Puts the account's messages back into the queue, oldest first, under their own keys; their age begins anew.
   *
   * @returns how many
   */
  release(partnerAccount: string, options: ReleaseOptions): Promise<number>;
}

export interface ReleaseOptions {
  /** Messages to put back at most. */
  readonly most: number;
  /** Ms since 1970: no further portion is begun after it. */
  readonly deadlineMs: number;
}

/** A message that has no outcome yet. */
export interface WaitingMessage {
  readonly message: ChangedAdvert;
  /** `parked`: outside the queue, for a person or the end of a pause. */
  readonly place: 'queue' | 'parked';
  /** How often it has been delivered; 0 for a parked one, which begins anew when it is put back. */
  readonly receives: number;
  /** Put off until then, ms since 1970. */
  readonly until?: number;
}

/** Looks at messages and takes none. For people: it may read all messages of the partner account. */
export interface WaitingMessages {
  /** Whether the queue can be looked at; where it cannot (SQS), only parked messages are found. */
  readonly seesQueue: boolean;
  /** Those of one advert, or of an object of another `feed`, of every generation, oldest first. */
  ofAdvert(partnerAccount: string, advertId: string, feed?: FeedName): Promise<readonly WaitingMessage[]>;
}

import type { ChangedAdvert } from '../contract/messages.ts';

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

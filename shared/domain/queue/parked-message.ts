import type { ChangedAdvert } from '../../contract/messages.ts';
import type { Position } from './position.ts';

export interface ParkedMessage {
  /** Sorts the parked messages of an account in queue order; the same for every delivery of one message. */
  readonly place: string;
  readonly message: ChangedAdvert;
}

/**
 * The place of a message delivered at `position`. Includes the key, because an emulator may give two messages the
 * same number.
 */
export const placeOf = (position: Position, { key }: ChangedAdvert): string =>
  `${position.split(':')[0]}:${key}`;

import type { ChangedAdvert } from '../../contract/messages.ts';
import type { Position } from './position.ts';

export interface ParkedMessage {
  /** Orders an account's messages as they stood in the queue; the same for every delivery of one message. */
  readonly place: string;
  readonly message: ChangedAdvert;
}

/** The place of a message delivered at `position`. Its key too: an emulator may number two messages alike. */
export const placeOf = (position: Position, { key }: ChangedAdvert): string =>
  `${position.split(':')[0]}:${key}`;

import { createHmac } from 'node:crypto';

/** A cursor is rejected if it is sent with another `since` or by another user. */
export interface CursorBinding {
  readonly partnerAccount: string;
  /** The exact string from the query, not the time that it denotes. */
  readonly since: string;
  readonly epoch: number;
}

export interface Bookmark {
  /** Number of entries of the user's change log that have been read. */
  readonly position: number;
  /** Makes two cursors of the same position differ, if the assumptions require it. */
  readonly serial: number;
}

export interface CursorCodec {
  encode(binding: CursorBinding, bookmark: Bookmark): string;
  /** @returns undefined for any string that this codec did not create for this binding */
  decode(binding: CursorBinding, cursor: string): Bookmark | undefined;
}

const headBytes = 12;
const signatureBytes = 15; // together with the head a multiple of 3, so that base64url has only one spelling

/**
 * Creates cursors that need not be stored: a position, signed together with its binding.
 * @see partner-api.md §2.1, §4.1
 */
export function createCursorCodec(key: string): CursorCodec {
  const encode = (binding: CursorBinding, { position, serial }: Bookmark): string => {
    const head = Buffer.alloc(headBytes);
    head.writeUIntBE(position, 0, 6);
    head.writeUIntBE(serial, 6, 6);
    const signature = createHmac('sha256', key)
      .update(head)
      .update(`${binding.epoch}\n${binding.partnerAccount}\n${binding.since}`)
      .digest();
    return Buffer.concat([head, signature.subarray(0, signatureBytes)]).toString('base64url');
  };
  return {
    encode,
    decode: (binding, cursor) => {
      const bytes = Buffer.from(cursor, 'base64url');
      if (bytes.length !== headBytes + signatureBytes) return undefined;
      const bookmark = { position: bytes.readUIntBE(0, 6), serial: bytes.readUIntBE(6, 6) };
      return encode(binding, bookmark) === cursor ? bookmark : undefined;
    },
  };
}

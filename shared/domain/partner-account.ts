import * as v from 'valibot';
import { form, kept, moment, partnerAccountName, someText } from '../contract/checks.ts';
import { generation } from '../contract/events.ts';
import { dayMs } from './clock.ts';
import { type Hold, heldBy, holds } from './holds.ts';
import { renewalField } from './renewal.ts';

/** The row of a partner account. Written as a whole, under optimistic locking. */
export const partnerAccount = kept({
  form,
  name: partnerAccountName,
  /** Seconds since 1970. A greater generation begins a new history of the partner account. */
  generation,
  connectedAt: someText,
  /** PartnerAuthorizationRequired was published: connecting it again publishes PartnerAuthorizationRestored. */
  unanswered: v.exactOptional(v.literal(true)),
  /** Its cursor and history are being removed: connecting the name again begins a new generation. */
  forgetting: v.exactOptional(v.literal(true)),
  /** It is being moved from a folder to a stack (operators/operations/move/move.ts): both hold such a row, and neither polls it. */
  moving: v.exactOptional(v.literal(true)),
  /** Name of the bridge in its events: that of the folder from which it was moved. Absent: the name of this bridge. */
  bridge: v.exactOptional(someText),
  holds,
  /** Evidence that its adverts fail (blame.ts). */
  failing: v.exactOptional(v.pipe(v.array(someText), v.readonly())),
  /** A refresh is running: only one at a time, across all functions and processes. */
  refreshing: v.exactOptional(kept({ holder: someText, startedAt: moment, until: moment })),
  /** Facts about the token pair that can be read without the secret. */
  token: v.exactOptional(
    kept({
      /** Version of the secret. */
      version: someText,
      expiresAt: moment,
      /** When the refresh token was last used; it expires after a month without use (partner-api.md §5.3). */
      usedAt: moment,
      /** Generation for which the pair was stored, if another one began with it since (`connect --new-history`). */
      issuedFor: v.exactOptional(generation),
    }),
  ),
  renewal: renewalField,
  /** An advert that was answered well, and when: a witness against others that are said to be gone. */
  answeredWell: v.exactOptional(kept({ advertId: someText, at: moment })),
  /** Authorization events that the bus has not accepted yet, oldest first, as complete envelopes. */
  owedEvents: v.exactOptional(v.pipe(v.array(someText), v.readonly())),
});
export type PartnerAccount = Readonly<v.InferOutput<typeof partnerAccount>>;

/** A refresh token expires if it was not used for this long (partner-api.md §8). */
export const refreshTokenLifetimeMs = 30 * dayMs;
/** A refresh token that was not used for this long raises an alarm: it expires in a week. */
const refreshTokenAlarmMs = refreshTokenLifetimeMs - 7 * dayMs;

/** Whether the refresh token expires within a week unless it is used. */
export const isDying = ({ token }: PartnerAccount, nowMs: number): boolean =>
  token !== undefined && nowMs - token.usedAt >= refreshTokenAlarmMs;

/** The hold of an account whose user has to authorize again; its reason is one of the contract's stop reasons. */
export function stopOf(account: PartnerAccount): (Hold & { readonly reason: string }) | undefined {
  const hold = heldBy(account, 'authorization', 0);
  return hold && { ...hold, reason: hold.reason ?? 'unknown' };
}

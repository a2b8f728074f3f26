/**
 * The two kinds of secret. Values read from them are wrapped into a {@link Secret} at once, so that they always print
 * as `[redacted]`.
 */
import * as v from 'valibot';
import { form, instant } from './checks.ts';
import { generation } from './events.ts';

const filled = v.pipe(v.string(), v.trim(), v.minLength(1, 'expected a non-empty string'));

/** Kept exactly as the service gave it, including spaces. */
const exact = v.pipe(
  v.string(),
  v.check((text) => text.trim() !== '', 'expected a non-empty string'),
);

/** `advert-bridge/application`. */
export const applicationSecret = v.object({ form, clientId: filled, clientSecret: filled });

/** `advert-bridge/partner-accounts/<name>`: the newest pair that the service returned. */
export const partnerAccountSecret = v.object({
  form,
  accessToken: filled,
  refreshToken: exact,
  /** The granted scope, separated by spaces. */
  scope: v.string(),
  /** Expiry by the bridge's clock, counted from the arrival of the answer minus the round trip. */
  expiresAt: instant,
  /** When the service returned this pair. */
  obtainedAt: instant,
  /** Generation of the partner account, and the version that this one replaces. */
  generation,
  follows: v.exactOptional(filled),
});
export type PartnerAccountSecret = v.InferOutput<typeof partnerAccountSecret>;

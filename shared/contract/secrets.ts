/**
 * The two kinds of secret. What is read from them goes into a {@link Secret} at once, so that it prints as
 * `[redacted]` wherever it ends up.
 */
import * as v from 'valibot';
import { form, instant } from './checks.ts';

const filled = v.pipe(v.string(), v.trim(), v.minLength(1, 'expected a non-empty string'));

/** Kept to the last character, as the service gave it; spaces belong to it. */
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
  /** As granted, space separated. */
  scope: v.string(),
  /** By the clock of the bridge, from the arrival of the answer less the round trip. */
  expiresAt: instant,
  /** When the service returned this pair. */
  obtainedAt: instant,
});
export type PartnerAccountSecret = v.InferOutput<typeof partnerAccountSecret>;

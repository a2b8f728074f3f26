/**
 * Schemas of stored rows and secrets. They are checked when read, because a manually edited row must not become an event
 * or stop the round of all accounts. Values of secrets are wrapped into a {@link Secret} at once.
 */
import * as v from 'valibot';
import { form, instant, ofKnownForm, partnerAccountName, status, wholeNumber } from './checks.ts';
import { generation } from './events.ts';

/** Name of a partner account's row in messages: the place of its {@link ShapeError}. */
export const accountPlace = (name: string | undefined): string => `partner account ${name}`;
/** The same for a feed. @param feed if absent: the common prefix of the places of all the account's feeds */
export const feedPlace = (partnerAccount: string, feed = ''): string =>
  `state of feed ${partnerAccount}/${feed}`;

const text = v.pipe(v.string(), v.minLength(1, 'expected some text'));
/** Ms since 1970. */
const moment = v.pipe(v.number(), v.finite('expected a time in milliseconds'));

/** The history of one advert; the fields are described in shared/state/advert-histories.ts. */
export const advertRow = v.object({
  form,
  sequence: wholeNumber(0),
  status: v.nullable(status),
  envelope: v.exactOptional(text),
  pending: v.optional(v.boolean(), false),
  by: v.exactOptional(text),
  tries: v.exactOptional(wholeNumber(0)),
  missingSince: v.exactOptional(moment),
});

/** How far one feed has been read; described in shared/state/feed-states.ts. Fields that a newer bridge added are kept. */
export const feedState = v.looseObject({
  form,
  partnerAccount: partnerAccountName,
  feed: text,
  generation,
  since: text,
  cursor: v.exactOptional(v.string()),
  resyncing: v.exactOptional(v.literal(true)),
  lastSuccess: v.exactOptional(moment),
  lastPolled: v.exactOptional(moment),
  resets: wholeNumber(0),
  lastReset: v.exactOptional(moment),
  resetsInARow: wholeNumber(0),
  pausedUntil: v.exactOptional(moment),
  fault: v.exactOptional(v.string()),
  faultKind: v.exactOptional(v.string()),
  needsPerson: v.exactOptional(v.boolean()),
  counts: v.exactOptional(
    v.object({ listed: wholeNumber(0), malformed: wholeNumber(0), repeated: wholeNumber(0) }),
  ),
  lease: v.exactOptional(v.object({ holder: v.string(), until: moment, forMs: v.number() })),
});

/** A hold; described in shared/domain/holds.ts. */
const hold = v.looseObject({
  kind: v.picklist(['authorization', 'operator', 'service', 'circuit', 'token']),
  since: moment,
  until: v.exactOptional(moment),
  forMs: v.exactOptional(v.number()),
  reason: v.exactOptional(text),
  who: v.exactOptional(text),
  fault: v.exactOptional(text),
  blamed: v.exactOptional(v.array(text)),
});
const holds = v.exactOptional(v.array(hold));

/**
 * A partner account without its secret; described in shared/domain/partner-account.ts. Fields that a newer bridge added
 * are kept.
 */
export const partnerAccountRow = v.looseObject({
  form,
  name: partnerAccountName,
  generation,
  connectedAt: text,
  unanswered: v.exactOptional(v.literal(true)),
  forgetting: v.exactOptional(v.literal(true)),
  holds,
  refreshing: v.exactOptional(v.looseObject({ holder: text, startedAt: moment, until: moment })),
  token: v.exactOptional(
    v.looseObject({
      ...{ version: text, expiresAt: moment, usedAt: moment },
      issuedFor: v.exactOptional(generation),
    }),
  ),
  owedEvents: v.exactOptional(v.array(text)),
});

/** The rate budget; described in shared/state/budget.ts. Fields that a newer bridge added are kept. */
export const budgetRow = v.looseObject({
  form,
  nextSlotMs: moment,
  clockMs: v.exactOptional(moment),
  connected: v.exactOptional(wholeNumber(0)),
  holds,
});

/** What the service answered; described in shared/state/activity.ts. */
export const activityRow = v.object({
  maxRequestsPerSecond: v.number(),
  minutes: v.record(v.string(), v.record(v.string(), v.number())),
});

/** The progress of an operation, and how many IDs were listed by all operations of its kind. */
export const progressRow = v.object({ value: ofKnownForm, counted: wholeNumber(0) });

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

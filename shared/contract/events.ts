/**
 * The events on the bus, which are the product. This contract changes only by additions; a breaking change is a new
 * detail type, published in parallel with the old one. For subscribers: docs/subscribe/guide.md.
 */
import * as v from 'valibot';
import { advertId, instant, partnerAccountName, status, wholeNumber } from './checks.ts';
import { detailTypes, eventSource } from './names.ts';

/** Why the advert was fetched. */
export const causes = ['feed', 'backfill', 'resync', 'audit'] as const;
export const cause = v.picklist(causes);
export type Cause = v.InferOutput<typeof cause>;

const version = v.pipe(v.string(), v.regex(/^1\.[0-9]+$/, 'expected a version 1.x'));

export const generation = wholeNumber(1);

/** The setting `stackName`, or the name of an embedded bridge. */
export const bridgeName = v.pipe(
  v.string(),
  v.regex(/^[A-Za-z][A-Za-z0-9-]{0,63}$/, 'expected the name of a bridge: letters, digits and hyphens'),
);

/** Published as an open string: a new cause is not a breaking change. */
const publishedCause = v.pipe(v.string(), v.minLength(1, 'expected a cause such as feed'));

const metadata = {
  /** For an advert `<partnerAccount>/<generation>/<advertId>/<sequence>`; subscribers deduplicate by it. */
  eventId: v.string(),
  schemaVersion: version,
  /** Name of the bridge. Histories of two bridges are independent. Absent in events of schema version 1.0. */
  bridge: v.optional(bridgeName),
  partnerAccount: partnerAccountName,
  /** When this history began, in seconds since 1970. A greater one begins again with sequence 1. */
  generation,
} as const;

const advertMetadata = v.object({
  ...metadata,
  /** 1, 2, 3 … for each advert and generation, without a gap once all events have arrived. */
  sequence: wholeNumber(1),
  listedAt: instant,
  /** When the service's answer with this status was received. */
  observedAt: instant,
  /** One of `causes`; more may be added. */
  cause: publishedCause,
  /** The same value for all events of one page of the feed. */
  correlationId: v.string(),
});

const previousStatus = v.nullable(status);

/** Only with the setting `eventFields`. */
const copiedFields = {
  /** Values of the advert, by path. */
  fields: v.optional(v.record(v.string(), v.unknown())),
  /** Paths whose values did not fit, or cannot be copied exactly. */
  fieldsLeftOut: v.optional(v.array(v.string())),
} as const;

const statusChangedData = v.object({
  /** ID at the partner service: digits, as a string because the number may exceed 2^53. */
  advertId,
  /** Status in the words of the partner service; accept unknown ones. */
  status,
  /** `null` for the first event of an advert, and after it was unavailable. */
  previousStatus,
  ...copiedFields,
});
const unavailableData = v.object({
  advertId,
  /** Always `null`: the partner service no longer knows the advert. */
  status: v.null(),
  /** Status of the last event before; `null` if there was none. */
  previousStatus,
});

const authorizationMetadata = v.object({
  ...metadata,
  observedAt: instant,
});

/** Fixed words that a program can compare; more may be added. */
export const stopReasons = ['refresh-token-rejected', 'scope-insufficient', 'disconnected'] as const;
export type StopReason = (typeof stopReasons)[number];

const authorizationData = v.object({ reason: v.string() });

const statusChangedDetail = v.object({ metadata: advertMetadata, data: statusChangedData });
const unavailableDetail = v.object({ metadata: advertMetadata, data: unavailableData });
const authorizationDetail = v.object({ metadata: authorizationMetadata, data: authorizationData });

/** The objects inside events, under the names that code generators use for their types. */
export const parts = {
  AdvertMetadata: advertMetadata,
  AdvertStatusChangedDetail: statusChangedDetail,
  AdvertStatusChangedData: statusChangedData,
  AdvertUnavailableDetail: unavailableDetail,
  AdvertUnavailableData: unavailableData,
  AuthorizationMetadata: authorizationMetadata,
  AuthorizationDetail: authorizationDetail,
  AuthorizationData: authorizationData,
} as const;

const envelopeOf = <const T extends string, const D extends v.GenericSchema>(detailType: T, detail: D) =>
  v.object({
    source: v.literal(eventSource),
    'detail-type': v.literal(detailType),
    time: instant,
    resources: v.array(v.string()),
    detail,
    // EventBridge adds these fields; events from a webhook or a file do not have them.
    version: v.optional(v.string()),
    id: v.optional(v.string()),
    account: v.optional(v.string()),
    region: v.optional(v.string()),
    /** Set on an event that an archive replays. */
    'replay-name': v.optional(v.string()),
  });

/** The schema of the whole envelope, for each detail type. */
export const envelopes = {
  [detailTypes.statusChanged]: envelopeOf(detailTypes.statusChanged, statusChangedDetail),
  [detailTypes.unavailable]: envelopeOf(detailTypes.unavailable, unavailableDetail),
  [detailTypes.authorizationRequired]: envelopeOf(detailTypes.authorizationRequired, authorizationDetail),
  [detailTypes.authorizationRestored]: envelopeOf(detailTypes.authorizationRestored, authorizationDetail),
} as const;

/** Any event of the bridge. */
export const envelope = v.variant('detail-type', Object.values(envelopes) as Variants);
type Variants = [
  (typeof envelopes)['AdvertStatusChanged'],
  (typeof envelopes)['AdvertUnavailable'],
  (typeof envelopes)['PartnerAuthorizationRequired'],
  (typeof envelopes)['PartnerAuthorizationRestored'],
];

export type AdvertStatusChanged = v.InferOutput<(typeof envelopes)['AdvertStatusChanged']>;
export type AdvertUnavailable = v.InferOutput<(typeof envelopes)['AdvertUnavailable']>;
export type AdvertEvent = AdvertStatusChanged | AdvertUnavailable;
export type AuthorizationEvent = v.InferOutput<
  (typeof envelopes)['PartnerAuthorizationRequired'] | (typeof envelopes)['PartnerAuthorizationRestored']
>;
export type Envelope = AdvertEvent | AuthorizationEvent;

/**
 * The events on the bus: the product. It changes by addition only; a breaking change is a new detail type,
 * published beside the old one. Subscribers' view: docs/subscribe/guide.md.
 */
import * as v from 'valibot';
import { advertId, instant, partnerAccountName, status, wholeNumber } from './checks.ts';
import { detailTypes, eventSource } from './names.ts';

/** Why the advert was looked at. */
export const causes = ['feed', 'backfill', 'resync', 'audit'] as const;
export const cause = v.picklist(causes);
export type Cause = v.InferOutput<typeof cause>;

const version = v.pipe(v.string(), v.regex(/^1\.[0-9]+$/, 'expected a version 1.x'));

/** Seconds since 1970 at which this history began; a forgotten and reconnected account gets a greater one. */
export const generation = wholeNumber(1);

/** Published open: a cause that is added later is no other shape. */
const publishedCause = v.pipe(v.string(), v.minLength(1, 'expected a cause such as feed'));

export const advertMetadata = v.object({
  /** `<partnerAccount>/<generation>/<advertId>/<sequence>`: what subscribers dedupe on. */
  eventId: v.string(),
  schemaVersion: version,
  partnerAccount: partnerAccountName,
  generation,
  /** 1, 2, 3 … for each advert and generation, without a hole in the end. */
  sequence: wholeNumber(1),
  /** When the page that named the advert was received. */
  listedAt: instant,
  /** When the answer with this status was received. */
  observedAt: instant,
  /** One of `causes`; more may be added. */
  cause: publishedCause,
  /** The same for everything that came of one page of the feed. */
  correlationId: v.string(),
  /** W3C Trace Context, by the setting `tracing`. One that is not valid is ignored: tracing must not cost an event. */
  traceparent: v.optional(v.fallback(v.string(), '')),
});

export const previousStatus = v.nullable(status);

/** By the setting `eventFields`. */
export const copiedFields = {
  /** Values of the advert by their paths. */
  fields: v.optional(v.record(v.string(), v.unknown())),
  /** Paths whose values had no room, or cannot be copied as they are. */
  fieldsLeftOut: v.optional(v.array(v.string())),
} as const;

const statusChangedData = v.object({
  advertId,
  status,
  /** `null` for the first event of an advert, and after it was unavailable. */
  previousStatus,
  ...copiedFields,
});
const unavailableData = v.object({ advertId, status: v.null(), previousStatus });

const authorizationMetadata = v.object({
  eventId: v.string(),
  schemaVersion: version,
  partnerAccount: partnerAccountName,
  generation,
  /** When it was noticed. */
  observedAt: instant,
});

/** In words a program can compare; more may be added. */
export const stopReasons = ['refresh-token-rejected', 'scope-insufficient', 'disconnected'] as const;
export type StopReason = (typeof stopReasons)[number];

const authorizationData = v.object({ reason: v.string() });

const statusChangedDetail = v.object({ metadata: advertMetadata, data: statusChangedData });
const unavailableDetail = v.object({ metadata: advertMetadata, data: unavailableData });
const authorizationDetail = v.object({ metadata: authorizationMetadata, data: authorizationData });

/** The objects inside events, by the names that code generators give their types. */
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

export const envelopeOf = <const T extends string, const D extends v.GenericSchema>(
  detailType: T,
  detail: D,
) =>
  v.object({
    source: v.literal(eventSource),
    'detail-type': v.literal(detailType),
    time: instant,
    resources: v.array(v.string()),
    detail,
    // EventBridge adds these; what comes from a webhook or a file does not have them.
    version: v.optional(v.string()),
    id: v.optional(v.string()),
    account: v.optional(v.string()),
    region: v.optional(v.string()),
    /** Of an event that an archive replays. */
    'replay-name': v.optional(v.string()),
  });

/** One schema for each detail type, of the whole envelope. */
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

export type StatusChanged = v.InferOutput<(typeof envelopes)['AdvertStatusChanged']>;
export type Unavailable = v.InferOutput<(typeof envelopes)['AdvertUnavailable']>;
export type AdvertEvent = StatusChanged | Unavailable;
export type AuthorizationEvent = v.InferOutput<
  (typeof envelopes)['PartnerAuthorizationRequired'] | (typeof envelopes)['PartnerAuthorizationRestored']
>;
export type Envelope = AdvertEvent | AuthorizationEvent;

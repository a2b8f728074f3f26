import { createHash } from 'node:crypto';
import type {
  AdvertEvent,
  AdvertStatusChanged,
  AdvertUnavailable,
  AuthorizationEvent,
} from '../../shared/contract/events.ts';
import { detailTypes, eventSource, schemaVersion, stackName } from '../../shared/contract/names.ts';
import { checkNames } from '../options.ts';

export interface AdvertFields {
  /** Default `AdvertBridge`; `undefined` for an event of schema version 1.0. */
  readonly bridge?: string | undefined;
  /** Default `main`. */
  readonly partnerAccount?: string;
  /** Default `123`. */
  readonly advertId?: string;
  /** Default 1763640000. */
  readonly generation?: number;
  /** Default 1. */
  readonly sequence?: number;
  /** Default: 2026-11-20T12:00:00Z plus one second per sequence number. */
  readonly observedAt?: string;
  /** Default `observedAt`. */
  readonly listedAt?: string;
  /** Default `feed`. */
  readonly cause?: string;
  /** Default `read-1`. */
  readonly correlationId?: string;
  /** Default `1.0`. */
  readonly schemaVersion?: string;
  /** Default `null` for sequence 1, else `new`; for `anAdvertUnavailable` always `active`. */
  readonly previousStatus?: string | null;
}

export interface StatusFields extends AdvertFields {
  /** Default `active`. */
  readonly status?: string;
}

/**
 * An `AdvertStatusChanged` as a target receives it. It is valid whichever fields you omit, and its IDs are made from
 * the fields.
 */
export function anAdvertStatusChanged(fields: StatusFields = {}): AdvertStatusChanged {
  const { sequence = 1, status = 'active', previousStatus = sequence === 1 ? null : 'new' } = fields;
  const { advertId, resource, metadata } = advertParts(fields);
  const data = { advertId, status, previousStatus };
  return envelopeOf(detailTypes.statusChanged, resource, { metadata, data });
}

/** An `AdvertUnavailable`: the service no longer knows the advert. */
export function anAdvertUnavailable(fields: AdvertFields = {}): AdvertUnavailable {
  const { previousStatus = 'active' } = fields;
  const { advertId, resource, metadata } = advertParts(fields);
  const data = { advertId, status: null, previousStatus };
  return envelopeOf(detailTypes.unavailable, resource, { metadata, data });
}

export interface AuthorizationFields {
  /** Default `AdvertBridge`. */
  readonly bridge?: string | undefined;
  /** Default `main`. */
  readonly partnerAccount?: string;
  /** Default 1763640000. */
  readonly generation?: number;
  readonly observedAt?: string;
  readonly schemaVersion?: string;
  readonly reason?: string;
}

/**
 * A `PartnerAuthorizationRequired`: a partner account needs manual reauthorization. Default reason:
 * `refresh-token-rejected`.
 */
export const aPartnerAuthorizationRequired = (fields: AuthorizationFields = {}): AuthorizationEvent =>
  authorization('required', { reason: 'refresh-token-rejected', ...fields });

/** A `PartnerAuthorizationRestored`. Default reason: `connected-again`. */
export const aPartnerAuthorizationRestored = (fields: AuthorizationFields = {}): AuthorizationEvent =>
  authorization('restored', { reason: 'connected-again', ...fields });

/** The input of a Lambda function that SQS calls, with these events as message-1, message-2 and so on. */
export const aLambdaEvent = (events: readonly unknown[]) => ({
  Records: events.map((event, index) => anSqsRecord(event, `message-${index + 1}`)),
});

/**
 * An SQS record as Lambda passes it. A string becomes the body unchanged, so that you can test bodies that are not
 * events.
 */
export function anSqsRecord(event: unknown, messageId = 'message-1') {
  const body = typeof event === 'string' ? event : JSON.stringify(event);
  return {
    messageId,
    receiptHandle: `receipt-${messageId}`,
    body,
    attributes: {
      ApproximateReceiveCount: '1',
      SentTimestamp: String(begin),
      SenderId: 'AIDAIENQZJOLO23YVJ4VO',
      ApproximateFirstReceiveTimestamp: String(begin + 10),
    },
    messageAttributes: {},
    md5OfBody: createHash('md5').update(body).digest('hex'),
    eventSource: 'aws:sqs',
    eventSourceARN: `arn:aws:sqs:${region}:${account}:adverts`,
    awsRegion: region,
  };
}

const advertFields = [
  ...['bridge', 'partnerAccount', 'advertId', 'generation', 'sequence', 'observedAt', 'listedAt', 'cause'],
  ...['correlationId', 'schemaVersion', 'previousStatus', 'status'],
];
const authorizationFields = [
  ...['bridge', 'partnerAccount', 'generation', 'observedAt', 'schemaVersion', 'reason'],
];

const begin = Date.parse('2026-11-20T12:00:00.000Z');
const account = '111122223333';
const region = 'eu-central-1';
const defaultGeneration = 1_763_640_000;
const toSeconds = (instant: string): string => instant.replace(/(\.\d+)?Z$/, 'Z');

/**
 * Adds the envelope of EventBridge to a detail, with fields in the same order. The ID is always the same for the same
 * event, unlike EventBridge's.
 */
function envelopeOf<const T extends string, D extends { metadata: { eventId: string; observedAt: string } }>(
  detailType: T,
  resource: string,
  detail: D,
) {
  const { eventId, observedAt } = detail.metadata;
  const hash = createHash('sha256').update(eventId).digest('hex');
  return {
    version: '0',
    id: hash.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*/, '$1-$2-4$3-8$4-$5'),
    'detail-type': detailType,
    source: eventSource as typeof eventSource,
    account,
    time: toSeconds(observedAt),
    region,
    resources: [resource],
    detail,
  };
}

function bridgeOf(fields: AdvertFields | AuthorizationFields): { bridge?: string } {
  const { bridge } = { bridge: stackName, ...fields };
  return bridge === undefined ? {} : { bridge };
}

function advertParts(fields: AdvertFields) {
  checkNames('anAdvertStatusChanged or anAdvertUnavailable', fields, advertFields);
  const { partnerAccount = 'main', advertId = '123', generation = defaultGeneration, sequence = 1 } = fields;
  const observedAt = fields.observedAt ?? new Date(begin + sequence * 1000).toISOString();
  const metadata: AdvertEvent['detail']['metadata'] = {
    eventId: `${partnerAccount}/${generation}/${advertId}/${sequence}`,
    schemaVersion: fields.schemaVersion ?? schemaVersion,
    ...bridgeOf(fields),
    partnerAccount,
    generation,
    sequence,
    listedAt: fields.listedAt ?? observedAt,
    observedAt,
    cause: fields.cause ?? 'feed',
    correlationId: fields.correlationId ?? 'read-1',
  };
  return { advertId, resource: `advert-bridge/${partnerAccount}/advert/${advertId}`, metadata };
}

function authorization(
  kind: 'required' | 'restored',
  fields: AuthorizationFields & { readonly reason: string },
): AuthorizationEvent {
  checkNames('aPartnerAuthorizationRequired or …Restored', fields, authorizationFields);
  const { partnerAccount = 'main', generation = defaultGeneration, reason } = fields;
  const metadata = {
    eventId: `${partnerAccount}/${generation}/authorization-${kind}/1`,
    schemaVersion: fields.schemaVersion ?? schemaVersion,
    ...bridgeOf(fields),
    partnerAccount,
    generation,
    observedAt: fields.observedAt ?? new Date(begin).toISOString(),
  };
  const detailType =
    kind === 'required' ? detailTypes.authorizationRequired : detailTypes.authorizationRestored;
  return envelopeOf(detailType, `advert-bridge/${partnerAccount}`, { metadata, data: { reason } });
}

import { createHash } from 'node:crypto';
import * as v from 'valibot';
import type {
  AdvertEvent,
  AdvertStatusChanged,
  AdvertUnavailable,
  AuthorizationEvent,
} from '../../../shared/contract/events.ts';
import { detailTypes, eventSource, schemaVersion, stackName } from '../../../shared/contract/names.ts';
import { checkOptions } from '../options.ts';

/** The fields that all events have. */
interface CommonFields {
  /** Default `AdvertBridge`; `undefined` for an event of schema version 1.0. */
  readonly bridge?: string | undefined;
  /** Default `main`. */
  readonly partnerAccount?: string;
  /** Default 1763640000. */
  readonly generation?: number;
  /** Default: 2026-11-20T12:00:00Z plus one second per sequence number. */
  readonly observedAt?: string;
  /** Default: the version that this kit was made for. */
  readonly schemaVersion?: string;
}

export interface AdvertFields extends CommonFields {
  /** Default `123`. */
  readonly advertId?: string;
  /** Default 1. */
  readonly sequence?: number;
  /** Default `observedAt`. */
  readonly listedAt?: string;
  /** Default `feed`. */
  readonly cause?: string;
  /** Default `read-1`. */
  readonly correlationId?: string;
  /** Default `null` for sequence 1, else `new`; for `anAdvertUnavailable` always `active`. */
  readonly previousStatus?: string | null;
}

export interface StatusFields extends AdvertFields {
  /** Default `active`. */
  readonly status?: string;
}

export interface AuthorizationFields extends CommonFields {
  /** Default `refresh-token-rejected`, or `connected-again`. */
  readonly reason?: string;
}

/**
 * An `AdvertStatusChanged` as a target receives it. It is valid whichever fields you omit, and its IDs are made from
 * the fields.
 */
export function anAdvertStatusChanged(fields: StatusFields = {}): AdvertStatusChanged {
  const { sequence = 1, status = 'active', previousStatus = sequence === 1 ? null : 'new' } = fields;
  const { advertId, resource, metadata } = advertParts(fields);
  const data = { advertId, status, previousStatus };
  return envelopeAround(detailTypes.statusChanged, resource, { metadata, data });
}

/** An `AdvertUnavailable`: the service no longer knows the advert. */
export function anAdvertUnavailable(fields: AdvertFields = {}): AdvertUnavailable {
  const { previousStatus = 'active' } = fields;
  const { advertId, resource, metadata } = advertParts(fields);
  const data = { advertId, status: null, previousStatus };
  return envelopeAround(detailTypes.unavailable, resource, { metadata, data });
}

/** A `PartnerAuthorizationRequired`: a partner account needs manual reauthorization. */
export const aPartnerAuthorizationRequired = (fields: AuthorizationFields = {}): AuthorizationEvent =>
  authorization(detailTypes.authorizationRequired, 'required', {
    reason: 'refresh-token-rejected',
    ...fields,
  });

/** A `PartnerAuthorizationRestored`. */
export const aPartnerAuthorizationRestored = (fields: AuthorizationFields = {}): AuthorizationEvent =>
  authorization(detailTypes.authorizationRestored, 'restored', { reason: 'connected-again', ...fields });

/** The input of a Lambda function that SQS calls, with these events as message-1, message-2 and so on. */
export const aLambdaEvent = (events: readonly unknown[]) => ({
  Records: events.map((event, index) => anSqsRecord(event, `message-${index + 1}`)),
});

/**
 * An SQS record as Lambda passes it. A string becomes the body unchanged, so that you can test bodies that are not
 * events.
 *
 * @param messageGroupId of a FIFO queue
 */
export function anSqsRecord(event: unknown, messageId = 'message-1', messageGroupId?: string) {
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
      ...(messageGroupId !== undefined && { MessageGroupId: messageGroupId }),
    },
    messageAttributes: {},
    md5OfBody: createHash('md5').update(body).digest('hex'),
    eventSource: 'aws:sqs',
    eventSourceARN: `arn:aws:sqs:${region}:${account}:adverts${messageGroupId === undefined ? '' : '.fifo'}`,
    awsRegion: region,
  };
}

const begin = Date.parse('2026-11-20T12:00:00.000Z');
const account = '111122223333';
const region = 'eu-central-1';

/**
 * Adds the envelope of EventBridge to a detail, with fields in the same order. The ID is always the same for the same
 * event, unlike EventBridge's.
 */
function envelopeAround<
  const T extends string,
  D extends { metadata: { eventId: string; observedAt: string } },
>(detailType: T, resource: string, detail: D) {
  const { eventId, observedAt } = detail.metadata;
  const hash = createHash('sha256').update(eventId).digest('hex');
  return {
    version: '0',
    id: hash.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*/, '$1-$2-4$3-8$4-$5'),
    'detail-type': detailType,
    source: eventSource as typeof eventSource,
    account,
    time: observedAt.replace(/(\.\d+)?Z$/, 'Z'),
    region,
    resources: [resource],
    detail,
  };
}

/** @param names the fields that may be given besides those of all events; others are a spelling mistake */
function commonParts(fields: CommonFields, names: readonly string[], idOf: (history: string) => string) {
  const all = ['bridge', 'partnerAccount', 'generation', 'observedAt', 'schemaVersion', ...names];
  checkOptions('the fixture', fields, Object.fromEntries(all.map((name) => [name, v.any()])));
  const { partnerAccount = 'main', generation = 1_763_640_000 } = fields;
  const { bridge } = { bridge: stackName, ...fields };
  return {
    eventId: idOf(`${partnerAccount}/${generation}`),
    schemaVersion: fields.schemaVersion ?? schemaVersion,
    ...(bridge === undefined ? {} : { bridge }),
    partnerAccount,
    generation,
  };
}

function advertParts(fields: AdvertFields) {
  const { advertId = '123', sequence = 1, cause = 'feed', correlationId = 'read-1' } = fields;
  const { observedAt = new Date(begin + sequence * 1000).toISOString(), listedAt = observedAt } = fields;
  const names = ['advertId', 'sequence', 'listedAt', 'cause', 'correlationId', 'previousStatus', 'status'];
  const common = commonParts(fields, names, (history) => `${history}/${advertId}/${sequence}`);
  const metadata: AdvertEvent['detail']['metadata'] = {
    ...common,
    sequence,
    listedAt,
    observedAt,
    cause,
    correlationId,
  };
  return { advertId, resource: `advert-bridge/${common.partnerAccount}/advert/${advertId}`, metadata };
}

function authorization(
  detailType: AuthorizationEvent['detail-type'],
  kind: string,
  { reason = '', ...fields }: AuthorizationFields,
): AuthorizationEvent {
  const common = commonParts(fields, [], (history) => `${history}/authorization-${kind}/1`);
  const metadata = { ...common, observedAt: fields.observedAt ?? new Date(begin).toISOString() };
  return envelopeAround(detailType, `advert-bridge/${common.partnerAccount}`, { metadata, data: { reason } });
}

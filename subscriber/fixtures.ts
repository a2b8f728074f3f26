import type {
  AdvertEvent,
  AuthorizationEvent,
  StatusChanged,
  Unavailable,
} from '../shared/contract/events.ts';
import { detailTypes, eventSource, schemaVersion } from '../shared/contract/names.ts';
import type { SqsRecord } from './parse.ts';

export interface AdvertFields {
  /** Default `main`. */
  readonly partnerAccount?: string;
  /** Default `123`. */
  readonly advertId?: string;
  /** Default 1763640000. */
  readonly generation?: number;
  /** Default 1. */
  readonly sequence?: number;
  /** Default: 2026-11-20T12:00:00Z and a second for each sequence number. */
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

/** An `AdvertStatusChanged` as it arrives, valid whatever is left out; the IDs follow from the fields. */
export function anAdvertStatusChanged(fields: StatusFields = {}): StatusChanged {
  const { sequence = 1, status = 'active', previousStatus = sequence === 1 ? null : 'new' } = fields;
  const { advertId, envelope, metadata } = advertParts(fields);
  return {
    ...envelope,
    'detail-type': detailTypes.statusChanged,
    detail: { metadata, data: { advertId, status, previousStatus } },
  };
}

/** An `AdvertUnavailable`: the service does not know the advert any more. */
export function anAdvertUnavailable(fields: AdvertFields = {}): Unavailable {
  const { previousStatus = 'active' } = fields;
  const { advertId, envelope, metadata } = advertParts(fields);
  return {
    ...envelope,
    'detail-type': detailTypes.unavailable,
    detail: { metadata, data: { advertId, status: null, previousStatus } },
  };
}

export interface AuthorizationFields {
  /** Default `main`. */
  readonly partnerAccount?: string;
  /** Default 1763640000. */
  readonly generation?: number;
  readonly observedAt?: string;
  readonly schemaVersion?: string;
  readonly reason?: string;
}

/** A `PartnerAuthorizationRequired`: a partner account waits for a person; default reason `refresh-token-rejected`. */
export const aPartnerAuthorizationRequired = (fields: AuthorizationFields = {}): AuthorizationEvent =>
  authorization('required', { reason: 'refresh-token-rejected', ...fields });

/** A `PartnerAuthorizationRestored`; default reason `connected-again`. */
export const aPartnerAuthorizationRestored = (fields: AuthorizationFields = {}): AuthorizationEvent =>
  authorization('restored', { reason: 'connected-again', ...fields });

/** The Lambda event in which a queue hands over these events, as a function behind SQS receives it. */
export function aLambdaEvent(events: readonly unknown[]): {
  Records: (SqsRecord & { messageId: string; body: string })[];
} {
  return { Records: events.map((event, index) => anSqsRecord(event, `message-${index + 1}`)) };
}

/** An SQS record; a text stands as it is, for bodies that are no events. */
export const anSqsRecord = (event: unknown, messageId = 'message-1') => ({
  messageId,
  body: typeof event === 'string' ? event : JSON.stringify(event),
  eventSource: 'aws:sqs',
});

const begin = Date.parse('2026-11-20T12:00:00.000Z');
const defaultGeneration = 1_763_640_000;
const toSeconds = (instant: string): string => instant.replace(/(\.\d+)?Z$/, 'Z');

function advertParts(fields: AdvertFields) {
  const { partnerAccount = 'main', advertId = '123', generation = defaultGeneration, sequence = 1 } = fields;
  const observedAt = fields.observedAt ?? new Date(begin + sequence * 1000).toISOString();
  const metadata: AdvertEvent['detail']['metadata'] = {
    eventId: `${partnerAccount}/${generation}/${advertId}/${sequence}`,
    schemaVersion: fields.schemaVersion ?? schemaVersion,
    partnerAccount,
    generation,
    sequence,
    listedAt: fields.listedAt ?? observedAt,
    observedAt,
    cause: fields.cause ?? 'feed',
    correlationId: fields.correlationId ?? 'read-1',
  };
  const source: typeof eventSource = eventSource;
  const resources = [`advert-bridge/${partnerAccount}/advert/${advertId}`];
  const envelope = { source, time: toSeconds(observedAt), resources };
  return { advertId, envelope, metadata };
}

function authorization(
  kind: 'required' | 'restored',
  fields: AuthorizationFields & { readonly reason: string },
): AuthorizationEvent {
  const { partnerAccount = 'main', generation = defaultGeneration, reason } = fields;
  const observedAt = fields.observedAt ?? new Date(begin).toISOString();
  return {
    source: eventSource,
    'detail-type':
      kind === 'required' ? detailTypes.authorizationRequired : detailTypes.authorizationRestored,
    time: toSeconds(observedAt),
    resources: [`advert-bridge/${partnerAccount}`],
    detail: {
      metadata: {
        eventId: `${partnerAccount}/${generation}/authorization-${kind}/1`,
        schemaVersion: fields.schemaVersion ?? schemaVersion,
        partnerAccount,
        generation,
        observedAt,
      },
      data: { reason },
    },
  };
}

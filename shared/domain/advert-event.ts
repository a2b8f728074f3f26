import type { AdvertEvent, AuthorizationEvent } from '../contract/events.ts';
import { feeds } from '../contract/feeds.ts';
import type { ChangedAdvert } from '../contract/messages.ts';
import { detailTypes, eventSource, schemaVersion } from '../contract/names.ts';
import type { OrderEvent } from '../contract/order-events.ts';
import { toInstant } from './clock.ts';
import type { EventFields } from './event-fields.ts';
import { historyKeyOf } from './history-key.ts';

export interface Observation {
  /** null: the service does not know the advert. */
  readonly status: string | null;
  readonly previousStatus: string | null;
  /** Number of the new event. */
  readonly sequence: number;
  /** When the answer was received, ms since 1970. */
  readonly observedAt: number;
  /** By the setting `eventFields`; only of an advert that is there. */
  readonly copied?: EventFields;
}

/** The event for what was observed of an advert, or another feed's object, when `message` was handled. */
export function advertEvent(message: ChangedAdvert, seen: Observation): AdvertEvent | OrderEvent {
  const { partnerAccount, generation, advertId, listedAt, cause, correlationId, traceparent } = message;
  const feed = feeds[message.feed];
  const { status, previousStatus, sequence, copied } = seen;
  const observedAt = toInstant(seen.observedAt);
  const metadata = {
    eventId: `${historyKeyOf(message)}/${sequence}`,
    schemaVersion,
    partnerAccount,
    generation,
    sequence,
    listedAt,
    observedAt,
    cause,
    correlationId,
    ...(traceparent !== undefined && { traceparent }),
  };
  const isGone = status === null;
  const event = {
    source: eventSource,
    'detail-type': isGone ? feed.detailTypes.unavailable : feed.detailTypes.statusChanged,
    time: toSeconds(observedAt),
    resources: [`advert-bridge/${partnerAccount}/${feed.object}/${advertId}`],
    detail: {
      metadata,
      data: { [feed.idField]: advertId, status, previousStatus, ...(isGone ? {} : copied) },
    },
  };
  return event as unknown as AdvertEvent | OrderEvent;
}

export interface AuthorizationChange {
  readonly partnerAccount: string;
  readonly generation: number;
  /** Version of the token that died, or of the one that came in its place: makes the event ID its own. */
  readonly tokenVersion: string;
  readonly reason: string;
  readonly observedAt: number;
}

/** The event that a partner account needs manual reauthorization, or has been reauthorized. */
export function authorizationEvent(
  kind: 'required' | 'restored',
  change: AuthorizationChange,
): AuthorizationEvent {
  const { partnerAccount, generation } = change;
  const observedAt = toInstant(change.observedAt);
  return {
    source: eventSource,
    'detail-type':
      kind === 'required' ? detailTypes.authorizationRequired : detailTypes.authorizationRestored,
    time: toSeconds(observedAt),
    resources: [`advert-bridge/${partnerAccount}`],
    detail: {
      metadata: {
        eventId: `${partnerAccount}/${generation}/authorization-${kind}/${change.tokenVersion}`,
        schemaVersion,
        partnerAccount,
        generation,
        observedAt,
      },
      data: { reason: change.reason },
    },
  };
}

/** EventBridge carries `time` in whole seconds, so the envelope does too, in every world. */
const toSeconds = (instant: string): string => `${instant.slice(0, 19)}Z`;

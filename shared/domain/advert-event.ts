import type { AdvertEvent, AuthorizationEvent } from '../contract/events.ts';
import { feeds } from '../contract/feeds.ts';
import type { ChangedAdvert } from '../contract/messages.ts';
import { detailTypes, eventSource, schemaVersion } from '../contract/names.ts';
import { toInstant } from './clock.ts';
import type { EventFields } from './event-fields.ts';
import { historyKeyOf } from './history-key.ts';

export interface Observation {
  /** Name of the bridge. */
  readonly bridge: string;
  /** null: the service does not know the advert. */
  readonly status: string | null;
  readonly previousStatus: string | null;
  /** Number of the new event. */
  readonly sequence: number;
  /** When the answer was received, ms since 1970. */
  readonly observedAt: number;
  /** Only with the setting `eventFields`, and only if the service knows the advert. */
  readonly copied?: EventFields;
}

/** Builds the event for an observed status of an advert (or another feed's object) while `message` is handled. */
export function advertEvent(message: ChangedAdvert, seen: Observation): AdvertEvent {
  const { partnerAccount, generation, advertId, listedAt, cause, correlationId } = message;
  const feed = feeds[message.feed];
  const { bridge, status, previousStatus, sequence, copied } = seen;
  const observedAt = toInstant(seen.observedAt);
  const metadata = {
    eventId: `${historyKeyOf(message)}/${sequence}`,
    schemaVersion,
    bridge,
    partnerAccount,
    generation,
    sequence,
    listedAt,
    observedAt,
    cause,
    correlationId,
  };
  const isGone = status === null;
  const event = {
    source: eventSource,
    'detail-type': isGone ? feed.detailTypes.unavailable : feed.detailTypes.statusChanged,
    time: toSeconds(observedAt),
    resources: [`advert-bridge/${partnerAccount}/${feed.object}/${advertId}`],
    detail: {
      metadata,
      data: { [`${feed.object}Id`]: advertId, status, previousStatus, ...(isGone ? {} : copied) },
    },
  };
  return event as unknown as AdvertEvent;
}

export interface AuthorizationChange {
  /** Name of the bridge. */
  readonly bridge: string;
  readonly partnerAccount: string;
  readonly generation: number;
  /** Version of the rejected token, or of its replacement; part of the event ID, which makes it unique. */
  readonly tokenVersion: string;
  readonly reason: string;
  readonly observedAt: number;
}

/** Builds the event that says that a partner account needs manual reauthorization, or was reauthorized. */
export function authorizationEvent(
  kind: 'required' | 'restored',
  change: AuthorizationChange,
): AuthorizationEvent {
  const { bridge, partnerAccount, generation } = change;
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
        bridge,
        partnerAccount,
        generation,
        observedAt,
      },
      data: { reason: change.reason },
    },
  };
}

/** EventBridge truncates `time` to whole seconds, so every kind of bridge does the same. */
const toSeconds = (instant: string): string => `${instant.slice(0, 19)}Z`;

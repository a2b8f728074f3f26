import * as v from 'valibot';
import type { AdvertEvent, AuthorizationEvent } from '../shared/contract/events.ts';
import { RefusedEventError } from './errors.ts';
import { type BridgeEvent, parseEvent, parseSqsRecord, partsOf, type SqsRecord } from './parse.ts';
import { advertKeyOf } from './position.ts';

/** One event that came, and the message that it came in. */
export interface Arrival<E extends BridgeEvent = BridgeEvent> {
  readonly event: E;
  /** Of the SQS record; `undefined` where the function is itself the target of a rule. */
  readonly messageId: string | undefined;
}

/** A record that will never become an event. */
export interface Refusal {
  readonly error: RefusedEventError;
  /** The body as it came. */
  readonly body: string;
  readonly messageId: string | undefined;
}

/** What a Lambda function was called with, sorted. */
export interface Arrivals {
  /** How many records there were. */
  readonly count: number;
  readonly refusals: readonly Refusal[];
  /** The events of each advert. */
  readonly adverts: readonly (readonly Arrival<AdvertEvent>[])[];
  readonly authorizations: readonly Arrival<AuthorizationEvent>[];
}

const batch = v.object({
  Records: v.array(v.custom<SqsRecord>((record) => typeof record === 'object' && record !== null)),
});

/**
 * Takes a batch of SQS records, or one event where the function is itself the target of a rule. One record that is no event
 * spoils no other.
 */
export function arrivalsIn(input: unknown): Arrivals {
  const records = v.is(batch, input) ? input.Records : undefined;
  const refusals: Refusal[] = [];
  const adverts = new Map<string, Arrival<AdvertEvent>[]>();
  const authorizations: Arrival<AuthorizationEvent>[] = [];

  for (const record of records ?? [undefined]) {
    const { messageId, body } = record ? partsOf(record) : {};
    try {
      const event = record ? parseSqsRecord(record) : parseEvent(input);
      if (isOfAdvert(event)) {
        const key = advertKeyOf(event);
        adverts.set(key, [...(adverts.get(key) ?? []), { event, messageId }]);
      } else authorizations.push({ event, messageId });
    } catch (error) {
      if (!(error instanceof RefusedEventError)) throw error;
      refusals.push({ error, body: body ?? JSON.stringify(input) ?? '', messageId });
    }
  }
  return { count: records?.length ?? 1, refusals, adverts: [...adverts.values()], authorizations };
}

const isOfAdvert = (event: BridgeEvent): event is AdvertEvent => 'sequence' in event.detail.metadata;

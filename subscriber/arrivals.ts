import type { AdvertEvent, AuthorizationEvent } from '../shared/contract/events.ts';
import type { RefusedEventError } from './errors.ts';
import { type BridgeEvent, parseLambdaEvent, type SqsRecord } from './parse.ts';
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

export function arrivalsIn(input: unknown): Arrivals {
  const parsed = parseLambdaEvent(input);
  const refusals: Refusal[] = [];
  const adverts = new Map<string, Arrival<AdvertEvent>[]>();
  const authorizations: Arrival<AuthorizationEvent>[] = [];
  for (const each of parsed) {
    const messageId = messageIdOf(each.record);
    if ('error' in each) {
      const body = bodyOf(each.record) ?? JSON.stringify(input) ?? '';
      refusals.push({ error: each.error, body, messageId });
    } else if (isOfAdvert(each.event)) {
      const key = advertKeyOf(each.event);
      adverts.set(key, [...(adverts.get(key) ?? []), { event: each.event, messageId }]);
    } else authorizations.push({ event: each.event, messageId });
  }
  return { count: parsed.length, refusals, adverts: [...adverts.values()], authorizations };
}

const isOfAdvert = (event: BridgeEvent): event is AdvertEvent => 'sequence' in event.detail.metadata;

const messageIdOf = (record: SqsRecord | undefined): string | undefined =>
  record && ('messageId' in record ? record.messageId : 'MessageId' in record ? record.MessageId : undefined);
const bodyOf = (record: SqsRecord | undefined): string | undefined =>
  record && ('body' in record ? record.body : 'Body' in record ? record.Body : undefined);

import * as v from 'valibot';
import type { AdvertEvent, AuthorizationEvent } from '../shared/contract/events.ts';
import { RefusedEventError } from './errors.ts';
import { type BridgeEvent, parseBody, parseEvent } from './parse.ts';
import { advertKeyOf } from './position.ts';

/** An event, and the message that contained it. */
export interface Arrival<E extends BridgeEvent = BridgeEvent> {
  readonly event: E;
  /** Message ID of the SQS record; `undefined` if the function itself is the target of a rule. */
  readonly messageId: string | undefined;
}

/** A record that is not an event, and that a retry will not change. */
export interface Refusal {
  readonly error: RefusedEventError;
  /** The body as it was received. */
  readonly body: string;
  readonly messageId: string | undefined;
}

const batch = v.object({
  Records: v.array(v.looseObject({ body: v.fallback(v.string(), ''), messageId: v.optional(v.string()) })),
});

/**
 * Reads a batch of SQS records, or a single event if the function itself is the target of a rule.
 *
 * @returns the number of records; those that are not events; the events, grouped by advert
 */
export function arrivalsIn(input: unknown) {
  const records = v.safeParse(batch, input);
  const messages = records.success
    ? records.output.Records.map(({ body, messageId }) => ({ body, messageId, read: () => parseBody(body) }))
    : [{ body: JSON.stringify(input) ?? '', messageId: undefined, read: () => parseEvent(input) }];
  const refusals: Refusal[] = [];
  const adverts = new Map<string, Arrival<AdvertEvent>[]>();
  const authorizations: Arrival<AuthorizationEvent>[] = [];

  for (const { body, messageId, read } of messages) {
    try {
      const event = read();
      if (isOfAdvert(event)) {
        const key = advertKeyOf(event);
        adverts.set(key, [...(adverts.get(key) ?? []), { event, messageId }]);
      } else authorizations.push({ event, messageId });
    } catch (error) {
      if (!(error instanceof RefusedEventError)) throw error;
      refusals.push({ error, body, messageId });
    }
  }
  return { count: messages.length, refusals, adverts: [...adverts.values()], authorizations };
}

const isOfAdvert = (event: BridgeEvent): event is AdvertEvent => 'sequence' in event.detail.metadata;

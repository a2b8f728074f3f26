import * as v from 'valibot';
import type { AdvertEvent } from '../../shared/contract/events.ts';
import { RefusedEventError } from './errors.ts';
import { type BridgeEvent, parseBody, parseEvent } from './parse.ts';
import { advertKeyOf, comparePositions, positionOf } from './position.ts';

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
  Records: v.array(
    v.looseObject({
      body: v.fallback(v.string(), ''),
      messageId: v.optional(v.string()),
      attributes: v.fallback(v.object({ MessageGroupId: v.optional(v.string()) }), {}),
      eventSourceARN: v.fallback(v.string(), '.fifo'),
    }),
  ),
});

/** Records that are handled one after the other: when one fails, the rest waits for it. */
export type Sequence = readonly (Arrival | Refusal)[];

/**
 * Reads a batch of SQS records, or a single event if the function itself is the target of a rule.
 *
 * Of a FIFO queue, the records of a message group are a sequence, in their order. Otherwise the events of an advert are
 * one, in the order of their positions, and every other record is one by itself.
 *
 * @returns the number of records, and their sequences
 */
export function arrivalsIn(input: unknown): { readonly count: number; readonly sequences: Sequence[] } {
  const given = v.safeParse(batch, input);
  if (!given.success) return { count: 1, sequences: [[readEvent(() => parseEvent(input), input)]] };
  const { Records: records } = given.output;
  const sequences = new Map<string, (Arrival | Refusal)[]>();
  for (const [index, { body, messageId, attributes, eventSourceARN }] of records.entries()) {
    const record = { ...readEvent(() => parseBody(body), body), messageId };
    // On a fair queue, a group is a tenant, whose messages have no order.
    const group = eventSourceARN.endsWith('.fifo') ? attributes.MessageGroupId : undefined;
    const key = group === undefined ? (advertOf(record) ?? `record ${index}`) : `group ${group}`;
    sequences.set(key, [...(sequences.get(key) ?? []), record]);
  }
  return {
    count: records.length,
    sequences: [...sequences].map(([key, all]) => (key.startsWith('advert ') ? inOrder(all) : all)),
  };
}

function readEvent(read: () => BridgeEvent, input: unknown): Arrival | Refusal {
  try {
    return { event: read(), messageId: undefined };
  } catch (error) {
    if (!(error instanceof RefusedEventError)) throw error;
    const body = typeof input === 'string' ? input : (JSON.stringify(input) ?? '');
    return { error, body, messageId: undefined };
  }
}

function advertOf(record: Arrival | Refusal): string | undefined {
  return 'event' in record && concernsAdvert(record.event)
    ? `advert ${advertKeyOf(record.event)}`
    : undefined;
}

const inOrder = (all: Sequence): Sequence =>
  (all as readonly Arrival<AdvertEvent>[]).toSorted((a, b) =>
    comparePositions(positionOf(a.event), positionOf(b.event)),
  );

export const concernsAdvert = (event: BridgeEvent): event is AdvertEvent =>
  'sequence' in event.detail.metadata;

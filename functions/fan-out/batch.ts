import { historyKeyOf, objectKeyOf } from '../../shared/domain/advert-event.ts';
import type { Delivery, Settlement } from '../../shared/ports/queue.ts';

/** The results of one page's messages within a batch. */
interface PageLine {
  readonly partnerAccount?: string;
  readonly correlationId?: string;
  /** Advert IDs (or the keys of other objects), grouped by the result of their messages. */
  readonly adverts: Record<string, (string | undefined)[]>;
  /** Receive counts of redelivered messages, by advert ID. */
  readonly redelivered?: Record<string, number>;
}

/** Fields of a batch's log line. They make it possible to follow each message from its page of the feed to its event. */
export function pagesOf(settlements: readonly Settlement[]): PageLine[] {
  const pages = Map.groupBy(
    settlements,
    ({ delivery: { message } }) => `${message?.partnerAccount} ${message?.correlationId}`,
  );
  return [...pages.values()].map((page) => {
    const { partnerAccount, correlationId } = page[0]?.delivery.message ?? {};
    const adverts: PageLine['adverts'] = {};
    for (const { delivery, verdict } of page) {
      const became = verdict.kind === 'done' ? verdict.outcome : verdict.kind;
      adverts[became] = [...(adverts[became] ?? []), objectOf(delivery)];
    }
    const again = page.filter(({ delivery }) => delivery.receives > 1);
    const redelivered = again.map(({ delivery }) => [objectOf(delivery) ?? '', delivery.receives]);
    return {
      partnerAccount,
      correlationId,
      adverts,
      ...(again.length > 0 ? { redelivered: Object.fromEntries(redelivered) } : {}),
    };
  });
}

const objectOf = ({ message }: Settlement['delivery']): string | undefined => message && objectKeyOf(message);

/** The deliveries of one advert, oldest first; or a single delivery whose body is not a valid message. */
export type DeliveryGroup = readonly [Delivery, ...Delivery[]];

/** Groups a batch by advert, so that each advert is fetched once for all its messages. */
export function byAdvert(deliveries: readonly Delivery[]): DeliveryGroup[] {
  const groups = new Map<string, [Delivery, ...Delivery[]]>();
  for (const delivery of deliveries) {
    const { message, id } = delivery;
    const key = message ? historyKeyOf(message) : id;
    const group = groups.get(key);
    if (group) group.push(delivery);
    else groups.set(key, [delivery]);
  }
  return [...groups.values()].map((group) => group.sort(byPosition));
}

const byPosition = (a: Delivery, b: Delivery): number => (a.position < b.position ? -1 : 1);

import { historyKeyOf } from '../../shared/domain/advert-event.ts';
import type { Delivery } from '../../shared/ports/deliveries.ts';

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

import { historyKeyOf, objectKeyOf } from '../../shared/domain/advert-event.ts';
import type { Delivery, Settlement } from '../../shared/ports/queue.ts';

/**
 * Fields of a batch's log line: the adverts of each page by their results, and the receive counts of those redelivered.
 * They make it possible to follow each message from its page of the feed to its event.
 */
export function pagesOf(settlements: readonly Settlement[]) {
  const pages = Map.groupBy(
    settlements,
    ({ delivery: { message } }) => `${message?.partnerAccount} ${message?.correlationId}`,
  );
  return [...pages.values()].map((page) => {
    const { partnerAccount, correlationId } = page[0]?.delivery.message ?? {};
    const byResult = Map.groupBy(page, ({ verdict }) =>
      verdict.kind === 'done' ? verdict.outcome : verdict.kind,
    );
    const adverts = [...byResult].map(([result, some]) => [result, some.map(objectOf)]);
    const again = page.filter(({ delivery }) => delivery.receives > 1);
    const redelivered = again.map((one) => [objectOf(one) ?? '', one.delivery.receives]);
    return {
      partnerAccount,
      correlationId,
      adverts: Object.fromEntries(adverts),
      ...(again.length > 0 && { redelivered: Object.fromEntries(redelivered) }),
    };
  });
}

const objectOf = ({ delivery: { message } }: Settlement) => message && objectKeyOf(message);

/** The deliveries of one advert, oldest first; or a single delivery whose body is not a valid message. */
export type DeliveryGroup = readonly [Delivery, ...Delivery[]];

/** Groups a batch by advert, so that each advert is fetched once for all its messages. */
export function byAdvert(deliveries: readonly Delivery[]): DeliveryGroup[] {
  const groups = Map.groupBy(deliveries, ({ message, id }) => (message ? historyKeyOf(message) : id));
  return [...groups.values()].map(
    (group) => group.sort((a, b) => (a.position < b.position ? -1 : 1)) as [Delivery, ...Delivery[]],
  );
}

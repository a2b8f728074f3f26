import { historyKeyOf, objectKeyOf } from '../../shared/domain/advert-event.ts';
import type { Delivery, Settlement } from '../../shared/ports/queue.ts';
import type { Group, MessageDelivery } from './advert.ts';

/**
 * Fields of a batch's log line: the adverts of each page by their results, and the receive counts of those redelivered.
 * They make it possible to follow each message from its page of the feed to its event.
 */
export function settlementsByPage(settlements: readonly Settlement[]) {
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

/** Groups the messages of a batch by advert, so that each advert is fetched once for all its messages. */
export function byAdvert(deliveries: readonly Delivery[]): Group[] {
  const messages = deliveries.filter((one): one is MessageDelivery => one.message !== undefined);
  const groups = Map.groupBy(messages, ({ message }) => historyKeyOf(message));
  return [...groups.values()].map(
    (group) => group.sort((a, b) => (a.position < b.position ? -1 : 1)) as [MessageDelivery],
  );
}

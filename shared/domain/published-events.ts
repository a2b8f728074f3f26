import type { AdvertEvent } from '../contract/events.ts';
import type { OrderEvent } from '../contract/order-events.ts';

/** Which events of adverts are published at all; what is not set leaves nothing out. */
export interface PublishedEvents {
  readonly publishStatuses?: readonly string[] | undefined;
  readonly publishPartnerAccounts?: readonly string[] | undefined;
}

/**
 * Whether an event is published. With `publishStatuses` it is where the advert comes to one of them, and where it leaves one:
 * a subscriber has to hear of both.
 */
export function isPublished(
  { detail: { metadata, data } }: AdvertEvent | OrderEvent,
  { publishStatuses, publishPartnerAccounts }: PublishedEvents,
): boolean {
  if (publishPartnerAccounts && !publishPartnerAccounts.includes(metadata.partnerAccount)) return false;
  if (!publishStatuses) return true;
  return [data.status, data.previousStatus].some(
    (status) => status !== null && publishStatuses.includes(status),
  );
}

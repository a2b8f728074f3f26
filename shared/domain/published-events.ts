import type { AdvertEvent } from '../contract/events.ts';

/** Settings that restrict which events about adverts are published; a setting that is absent restricts nothing. */
export interface PublishedEvents {
  readonly publishStatuses?: readonly string[] | undefined;
  readonly publishPartnerAccounts?: readonly string[] | undefined;
}

/**
 * Whether an event is published. With `publishStatuses`, an event is published both when the advert enters one of these
 * statuses and when it leaves one, because a subscriber needs both.
 */
export function isPublished(
  { detail: { metadata, data } }: AdvertEvent,
  { publishStatuses, publishPartnerAccounts }: PublishedEvents,
): boolean {
  if (publishPartnerAccounts && !publishPartnerAccounts.includes(metadata.partnerAccount)) return false;
  if (!publishStatuses) return true;
  return [data.status, data.previousStatus].some(
    (status) => status !== null && publishStatuses.includes(status),
  );
}

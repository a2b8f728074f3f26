/** The feeds of changed objects, with everything in which they differ. How to add one: "A feed" in docs/contribute/checklists.md. */
import { detailTypes } from './names.ts';

export interface Feed {
  /** Part of state keys and messages; never changes. */
  readonly name: FeedName;
  readonly path: string;
  /** Path of one of its objects. */
  pathOf(id: string): string;
  /** Word for an object, in the `resources` of its events; its events' data has the ID in `<object>Id`. */
  readonly object: string;
  readonly detailTypes: { readonly statusChanged: string; readonly unavailable: string };
  /**
   * Precedes the object's ID in keys of histories, message groups and event IDs. All feeds of a partner account share
   * these, so no two feeds have the same prefix, and a prefix never changes.
   */
  readonly keyPrefix: string;
}

/** @see partner-api.md §4.1, §4.3 */
export const advertsFeed: Feed = {
  name: 'adverts',
  path: '/api/partner/status/adverts',
  pathOf: (advertId) => `/api/partner/adverts/${advertId}`,
  object: 'advert',
  detailTypes,
  keyPrefix: '',
};

export const feedNames = ['adverts'] as const;
export type FeedName = (typeof feedNames)[number];

export const feeds: Readonly<Record<FeedName, Feed>> = { adverts: advertsFeed };

/** @returns undefined for a feed that this version does not know: a newer version may have stored its state */
export const feedNamed = (name: string): Feed | undefined =>
  Object.values(feeds).find((feed) => feed.name === name);

/** Requested page size: the service's maximum (partner-api.md §8). */
export const pageLimit = 1000;

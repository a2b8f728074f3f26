/** The feeds of changed objects: all that tells one from another. What another one takes: "A feed" in CONTRIBUTING.md. */
import type * as v from 'valibot';
import { detailTypes } from './names.ts';
import { advert } from './partner-service.ts';

export interface Feed {
  /** Part of state keys and messages; never changes. */
  readonly name: FeedName;
  readonly path: string;
  /** Path of one of its objects. */
  pathOf(id: string): string;
  /** What the service answers for one of its objects. */
  readonly answer: v.GenericSchema<unknown, { readonly data: ObjectAnswer }>;
  /** What an object is called, in `resources` of its events and in messages to people. */
  readonly object: string;
  /** Field of its events' data that holds the ID. */
  readonly idField: string;
  readonly detailTypes: { readonly statusChanged: string; readonly unavailable: string };
  /**
   * The object in keys of histories, message groups and event IDs, which all feeds of a partner account share: unlike any key
   * of another feed, and never changed.
   */
  keyOf(id: string): string;
}

/** What the bridge needs of an object: which one it is, and its status. */
interface ObjectAnswer {
  readonly id: number | string;
  readonly status: string;
}

/** @see partner-api.md §4.1, §4.3 */
export const advertsFeed: Feed = {
  name: 'adverts',
  path: '/api/partner/status/adverts',
  pathOf: (advertId) => `/api/partner/adverts/${advertId}`,
  answer: advert,
  object: 'advert',
  idField: 'advertId',
  detailTypes: { statusChanged: detailTypes.statusChanged, unavailable: detailTypes.unavailable },
  keyOf: (advertId) => advertId,
};

export const feedNames = ['adverts'] as const;
export type FeedName = (typeof feedNames)[number];

export const feeds: Readonly<Record<FeedName, Feed>> = { adverts: advertsFeed };

/** @returns undefined for a feed that this bridge does not have: a newer one may have stored its state */
export const feedNamed = (name: string): Feed | undefined =>
  Object.values(feeds).find((feed) => feed.name === name);

/** Page size asked for: the most that the service gives (partner-api.md §8). */
export const pageLimit = 1000;

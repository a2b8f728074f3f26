/** The feeds of changed objects: all that tells one from another. What another one takes: "A feed" in CONTRIBUTING.md. */
import type * as v from 'valibot';
import { detailTypes, orderDetailTypes } from './names.ts';
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
   * Polled only where the setting `feeds` names it. That the service refuses it (401, 403) is a fault of this feed alone: it
   * stops or pauses no partner account and opens no circuit, for the adverts would stand still with it.
   */
  readonly isOptional: boolean;
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
  detailTypes,
  isOptional: false,
  keyOf: (advertId) => advertId,
};

/**
 * Assumed, all of it: the service announces an orders feed that works like that of adverts, and shows nothing of it. Not for
 * production before the service has published it.
 *
 * @see partner-api.md §4.8
 */
const ordersFeed: Feed = {
  name: 'orders',
  path: '/api/partner/status/orders',
  pathOf: (orderId) => `/api/partner/orders/${orderId}`,
  answer: advert, // Assumed to be of the same shape.
  object: 'order',
  idField: 'orderId',
  detailTypes: orderDetailTypes,
  isOptional: true,
  keyOf: (orderId) => `order-${orderId}`,
};

export const feedNames = ['adverts', 'orders'] as const;
export type FeedName = (typeof feedNames)[number];

export const feeds: Readonly<Record<FeedName, Feed>> = { adverts: advertsFeed, orders: ordersFeed };

/** What is polled where the setting `feeds` is not given. */
export const defaultFeeds: readonly FeedName[] = ['adverts'];

/** @returns undefined for a feed that this bridge does not have: a newer one may have stored its state */
export const feedNamed = (name: string): Feed | undefined =>
  Object.values(feeds).find((feed) => feed.name === name);

/** The detail types of all that a bridge with these feeds publishes. */
export const detailTypesOf = (names: readonly FeedName[] = defaultFeeds): string[] =>
  names.flatMap((name) => Object.values(feeds[name].detailTypes));

/** Page size asked for: the most that the service gives (partner-api.md §8). */
export const pageLimit = 1000;

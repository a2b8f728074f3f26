/** The feeds of changed objects, with everything in which they differ. How to add one: "A feed" in CONTRIBUTING.md. */
import type * as v from 'valibot';
import { detailTypes, orderDetailTypes } from './names.ts';
import { advert } from './partner-service.ts';

export interface Feed {
  /** Part of state keys and messages; never changes. */
  readonly name: FeedName;
  readonly path: string;
  /** Path of one of its objects. */
  pathOf(id: string): string;
  /** Schema of the service's answer for one object. */
  readonly answer: v.GenericSchema<unknown, { readonly data: ObjectAnswer }>;
  /** Word for an object, in the `resources` of its events and in messages to people. */
  readonly object: string;
  /** Field of its events' data that holds the ID. */
  readonly idField: string;
  readonly detailTypes: { readonly statusChanged: string; readonly unavailable: string };
  /**
   * Polled only if the setting `feeds` lists it. If the service refuses this feed (401, 403), only this feed fails: no
   * partner account is stopped or paused and no circuit opens, because that would also stop the adverts.
   */
  readonly isOptional: boolean;
  /**
   * The object's part in keys of histories, message groups and event IDs. All feeds of a partner account share these,
   * so the key must differ from the keys of all other feeds, and must never change.
   */
  keyOf(id: string): string;
}

/** The fields of an object that the bridge needs: its ID and its status. */
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
 * All of this is assumed: the service has announced an orders feed that works like the adverts feed, but has not
 * documented it. Not for production until the service has published it.
 *
 * @see partner-api.md §4.8
 */
const ordersFeed: Feed = {
  name: 'orders',
  path: '/api/partner/status/orders',
  pathOf: (orderId) => `/api/partner/orders/${orderId}`,
  answer: advert, // Assumed to have the same shape.
  object: 'order',
  idField: 'orderId',
  detailTypes: orderDetailTypes,
  isOptional: true,
  keyOf: (orderId) => `order-${orderId}`,
};

export const feedNames = ['adverts', 'orders'] as const;
export type FeedName = (typeof feedNames)[number];

export const feeds: Readonly<Record<FeedName, Feed>> = { adverts: advertsFeed, orders: ordersFeed };

/** The feeds that are polled without the setting `feeds`. */
export const defaultFeeds: readonly FeedName[] = ['adverts'];

/** @returns undefined for a feed that this version does not know: a newer version may have stored its state */
export const feedNamed = (name: string): Feed | undefined =>
  Object.values(feeds).find((feed) => feed.name === name);

/** All detail types that a bridge with these feeds publishes. */
export const detailTypesOf = (names: readonly FeedName[] = defaultFeeds): string[] =>
  names.flatMap((name) => Object.values(feeds[name].detailTypes));

/** Requested page size: the service's maximum (partner-api.md §8). */
export const pageLimit = 1000;

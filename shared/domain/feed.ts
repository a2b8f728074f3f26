/**
 * A feed of changed objects. An orders feed is announced (partner-api.md §4.8): what it takes beyond a value here
 * is the checklist "A feed" in CONTRIBUTING.md.
 */
export interface Feed {
  /** Part of state keys and messages; never changes. */
  readonly name: string;
  readonly path: string;
  /** Path of one of its objects. */
  pathOf(id: string): string;
}

/** @see partner-api.md §4.1, §4.3 */
export const advertsFeed: Feed = {
  name: 'adverts',
  path: '/api/partner/status/adverts',
  pathOf: (advertId) => `/api/partner/adverts/${advertId}`,
};

export const feeds: readonly Feed[] = [advertsFeed];

/** Page size asked for: the most that the service gives (partner-api.md §8). */
export const pageLimit = 1000;

import type { FeedName } from '../contract/feeds.ts';
import type { MetricName } from '../contract/names.ts';

/** What happens, for those who run the bridge. Fields hold no secrets: a Secret prints as `[redacted]`. */
export interface Observer {
  info(message: string, fields?: Fields): void;
  warn(message: string, fields?: Fields): void;
  error(message: string, fields?: Fields): void;
  /** @param feed whose books it is of; default: adverts, or none */
  count(metric: MetricName, value: number, feed?: FeedName): void;
}

export type Fields = Readonly<Record<string, unknown>>;

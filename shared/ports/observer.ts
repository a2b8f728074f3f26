import type { MetricName } from '../contract/names.ts';

/** What happens, for those who run the bridge. Fields hold no secrets: a Secret prints as `[redacted]`. */
export interface Observer {
  info(message: string, fields?: Fields): void;
  warn(message: string, fields?: Fields): void;
  error(message: string, fields?: Fields): void;
  count(metric: MetricName, value: number): void;
}

export type Fields = Readonly<Record<string, unknown>>;

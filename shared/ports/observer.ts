import { type MetricName, metrics } from '../contract/names.ts';

/** Logs and metrics for the bridge's operators. Fields contain no secrets: a Secret prints as `[redacted]`. */
export interface Observer {
  info(message: string, fields?: Fields): void;
  warn(message: string, fields?: Fields): void;
  error(message: string, fields?: Fields): void;
  count(metric: MetricName, value: number): void;
}

export type Fields = Readonly<Record<string, unknown>>;

/** Logs an error about which somebody must do something, and counts it for the alarm. */
export function needsAttention(observer: Observer, message: string, fields: Fields): void {
  observer.count(metrics.needsAttention, 1);
  observer.error(message, fields);
}

import type { MetricName } from '../contract/names.ts';

/** Logs and metrics for the bridge's operators. Fields contain no secrets: a Secret prints as `[redacted]`. */
export interface Observer {
  info(message: string, fields?: Fields): void;
  warn(message: string, fields?: Fields): void;
  error(message: string, fields?: Fields): void;
  /** @param feed feed to which the count belongs; default: adverts, or none */
  count(metric: MetricName, value: number): void;
}

export type Fields = Readonly<Record<string, unknown>>;

import type { MetricName } from '../../shared/contract/names.ts';
import type { Fields, Observer } from '../../shared/ports/observer.ts';

export interface LogLine {
  readonly level: 'info' | 'warn' | 'error';
  readonly message: string;
  readonly fields: Fields;
}

/** Keeps what it was told. */
export function createRecordingObserver() {
  const lines: LogLine[] = [];
  const counts = new Map<MetricName, number>();
  const at =
    (level: LogLine['level']) =>
    (message: string, fields: Fields = {}) => {
      lines.push({ level, message, fields });
    };
  const observer: Observer = {
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    count: (metric, value) => {
      counts.set(metric, (counts.get(metric) ?? 0) + value);
    },
  };
  return { ...observer, lines, counted: (metric: MetricName) => counts.get(metric) ?? 0 };
}

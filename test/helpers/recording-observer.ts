import { type MetricName, metrics } from '../../shared/contract/names.ts';
import type { Fields, Observer } from '../../shared/ports/observer.ts';

export interface LogLine {
  readonly level: 'info' | 'warn' | 'error';
  readonly message: string;
  readonly fields: Fields;
}

const metricNames = new Set<unknown>(Object.values(metrics));

/** Records its calls, and rejects metrics that are not in the contract. */
export function createRecordingObserver() {
  const lines: LogLine[] = [];
  const counts: [MetricName, number][] = [];
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
      if (!metricNames.has(metric)) throw new Error(`${metric} is no metric`);
      counts.push([metric, value]);
    },
  };
  const counted = (metric: MetricName) =>
    counts.reduce((sum, [name, value]) => sum + (name === metric ? value : 0), 0);
  return { ...observer, lines, counts, counted };
}

import { Logger } from '@aws-lambda-powertools/logger';
import { Metrics, MetricUnit } from '@aws-lambda-powertools/metrics';
import { type MetricName, metricsNamespace, metrics as names } from '../../shared/contract/names.ts';
import { redact } from '../../shared/domain/redaction.ts';
import type { Observer } from '../../shared/ports/observer.ts';
import { serviceName } from './config.ts';

const units: Readonly<Partial<Record<MetricName, 'Seconds' | 'Milliseconds'>>> = {
  [names.feedLagSeconds]: MetricUnit.Seconds,
  [names.answerMs]: MetricUnit.Milliseconds,
};

/**
 * One logger and one set of metrics per function. All metrics of a bridge have the same dimension `service`, so that an
 * alarm covers exactly one bridge with all its functions.
 */
export function createTelemetry() {
  const logger = new Logger({ serviceName: serviceName(), jsonReplacerFn: redact });
  const metrics = new Metrics({ namespace: metricsNamespace, serviceName: serviceName() });
  const observer: Observer = {
    info: (message, fields) => logger.info(message, fields ?? {}),
    warn: (message, fields) => logger.warn(message, fields ?? {}),
    error: (message, fields) => logger.error(message, fields ?? {}),
    count(metric, value) {
      // A metric costs money for each hour in which it is written. For the lag, a 0 shows that the drain runs;
      // all other metrics are emitted only when non-zero.
      if (value === 0 && metric !== names.feedLagSeconds) return;
      metrics.addMetric(metric, units[metric] ?? MetricUnit.Count, value);
    },
  };
  /** What is awaited at the end of each invocation. */
  const atEnd: (() => Promise<void>)[] = [];
  return { logger, metrics, observer, atEnd };
}

export type Telemetry = ReturnType<typeof createTelemetry>;

/** One instance per function, because each function loads this module once. */
export const telemetry = createTelemetry();
export const { observer } = telemetry;

import middy from '@middy/core';
import type { Context } from 'aws-lambda';
import type { Deadline } from '../../shared/domain/clock.ts';
import { redactedError } from '../../shared/domain/redaction.ts';
import { type Telemetry, telemetry } from './observer.ts';

/** Time reserved for settling a batch and for writing logs and metrics. */
const marginMs = 3_000;
/** Never: an early end would freeze work that is still running, and the next invocation would go on with it. */
const timeoutEarlyInMillis = 0;

/**
 * Wraps every function. Each log line contains the request ID. An error is logged without the event and fails the
 * invocation; both are redacted. Metrics are always written at the end.
 */
export function withRuntime<Event, Result>(
  name: string,
  work: (event: Event, deadline: Deadline) => Promise<Result>,
  { logger, metrics, atEnd }: Telemetry = telemetry,
) {
  return (
    middy<Event, Result>({ timeoutEarlyInMillis })
      // Only this field of the context is logged: Powertools' own middleware would also add the function's ARN, name
      // and memory to each line, which is a third of the log costs of a batch.
      .before(({ context }) => {
        logger.resetKeys();
        logger.appendKeys({ function: name, function_request_id: context.awsRequestId });
      })
      // Lambda logs a thrown error unchanged, and returns it to the caller.
      .onError((request) => {
        const { error } = request;
        request.error = redactedError(error);
        logger.error('the invocation failed', { error });
      })
      .handler(async (event: Event, context: Context) => {
        try {
          return await work(event, {
            deadlineMs: Date.now() + context.getRemainingTimeInMillis() - marginMs,
          });
        } finally {
          await Promise.all(atEnd.map((end) => end()));
          if (metrics.hasStoredMetrics()) metrics.publishStoredMetrics();
        }
      })
  );
}

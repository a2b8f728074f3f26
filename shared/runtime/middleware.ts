import middy from '@middy/core';
import type { Context } from 'aws-lambda';
import { redactedError } from '../domain/redaction.ts';
import { type Telemetry, telemetry } from './observer.ts';

export interface Runtime {
  /** Milliseconds since 1970: what is not done by then is left to the next run or delivery. */
  readonly deadlineMs: number;
}

/** Left for settling a batch, for log lines and metrics. */
const marginMs = 3_000;
/** A function that overruns even its margin is ended this long before Lambda does, so that its log lines and metrics are written. */
const timeoutEarlyInMillis = 250;

/**
 * What surrounds every function: each log line names the request; an error is logged without the event and fails the
 * invocation, redacted both times; metrics are written at the end in any case.
 *
 * @param name of the function, in every log line
 * @see https://middy.js.org/docs/intro/hooks
 */
export function withRuntime<Event, Result>(
  name: string,
  work: (event: Event, runtime: Runtime) => Promise<Result>,
  { logger, metrics }: Telemetry = telemetry,
) {
  return (
    middy<Event, Result>({
      timeoutEarlyInMillis,
      requestEnd: () => {
        if (metrics.hasStoredMetrics()) metrics.publishStoredMetrics();
      },
    })
      // Only this of the context: Powertools' own middleware would also put the function's ARN, name and memory into each
      // line, a third of what the log of a batch costs.
      .before(({ context }) => {
        logger.resetKeys();
        logger.appendKeys({ function: name, function_request_id: context.awsRequestId });
      })
      // Lambda logs a thrown error as it is, and returns it to whoever invoked the function.
      .onError((request) => {
        request.error = redactedError(request.error);
        logger.error('the invocation failed', { error: request.error });
      })
      .handler((event: Event, context: Context) =>
        work(event, { deadlineMs: Date.now() + context.getRemainingTimeInMillis() - marginMs }),
      )
  );
}

import { traceparentPattern } from '../shared/contract/traceparent.ts';
import type { BridgeEvent } from './parse.ts';

/** A `Link` of OpenTelemetry. */
export interface SpanLink {
  readonly context: {
    readonly traceId: string;
    readonly spanId: string;
    readonly traceFlags: number;
    readonly isRemote: true;
  };
}

/** As much of `@opentelemetry/api` as is used, so that the kit does not depend on it. */
export interface TracingApi {
  readonly trace: {
    getTracer(name: string): {
      startActiveSpan<T>(
        name: string,
        options: { kind: number; links: SpanLink[]; attributes: Record<string, string> },
        work: (span: {
          recordException(error: Error): unknown;
          setStatus(status: { code: number }): unknown;
          end(): void;
        }) => T,
      ): T;
    };
  };
}

/** Spans for what your functions do. */
export interface Tracing {
  /** `@opentelemetry/api` as you import it; version 1. */
  readonly api: TracingApi;
}

/** `SpanKind.CONSUMER` and `SpanStatusCode.ERROR` of OpenTelemetry. */
const consumer = 4;
const failed = 2;

/**
 * The link from a span of yours to the bridge's message that the event came of.
 *
 * @returns an empty list where the bridge does not trace, or what the event carries is no valid `traceparent`
 */
export function spanLinksOf({ detail: { metadata } }: BridgeEvent): SpanLink[] {
  const { traceparent } = metadata as { readonly traceparent?: unknown };
  if (typeof traceparent !== 'string') return [];
  const [, traceId, spanId, flags = ''] = traceparentPattern.exec(traceparent) ?? [];
  if (traceId === undefined || spanId === undefined) return [];
  return [{ context: { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true } }];
}

/** Does the work on one event within a span that has the event's link. */
export function withSpan<T>(
  tracing: Tracing | undefined,
  event: BridgeEvent,
  work: () => Promise<T>,
): Promise<T> {
  if (!tracing) return work();
  const options = {
    kind: consumer,
    links: spanLinksOf(event),
    attributes: { 'advert_bridge.event_id': event.detail.metadata.eventId },
  };
  const tracer = tracing.api.trace.getTracer('advert-bridge');
  return tracer.startActiveSpan(`process ${event['detail-type']}`, options, async (span) => {
    try {
      return await work();
    } catch (error) {
      span.recordException(error instanceof Error ? error : new Error(String(error)));
      span.setStatus({ code: failed });
      throw error;
    } finally {
      span.end();
    }
  });
}

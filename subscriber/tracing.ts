import type { BridgeEvent } from './parse.ts';

/** An OpenTelemetry `Link`. */
export interface SpanLink {
  readonly context: {
    readonly traceId: string;
    readonly spanId: string;
    readonly traceFlags: number;
    readonly isRemote: true;
  };
}

/** The part of `@opentelemetry/api` that is used here, so that the kit does not depend on it. */
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

/** Settings for spans around your functions. */
export interface Tracing {
  /** `@opentelemetry/api` as you import it; version 1. */
  readonly api: TracingApi;
}

/** A `traceparent` of version 00: trace ID, span ID (neither may be all zeros), flags. */
const traceparentPattern = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/;

/** `SpanKind.CONSUMER` and `SpanStatusCode.ERROR` of OpenTelemetry. */
const consumer = 4;
const failed = 2;

/**
 * The link from your span to the bridge's message that caused the event.
 *
 * @returns an empty list if the event has no valid `traceparent`, for example because tracing is disabled in the bridge
 */
export function spanLinksOf({ detail: { metadata } }: BridgeEvent): SpanLink[] {
  const { traceparent } = metadata as { readonly traceparent?: unknown };
  if (typeof traceparent !== 'string') return [];
  const [, traceId, spanId, flags = ''] = traceparentPattern.exec(traceparent) ?? [];
  if (traceId === undefined || spanId === undefined) return [];
  return [{ context: { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true } }];
}

/** Runs the work for one event inside a span that has the event's link. */
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

import * as api from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  advertBatchHandler,
  advertEventHandler,
  type BridgeEvent,
  type EventHandlerOptions,
  parseBody,
  parseEvent,
  spanLinksOf,
} from '../../../subscriber/index.ts';
import {
  aLambdaEvent,
  anAdvertStatusChanged,
  aPartnerAuthorizationRequired,
  createInMemoryPositions,
} from '../../../subscriber/testing/index.ts';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const spanId = 'b7ad6b7169203331';

function traced(advertId: string, traceparent: unknown = `00-${traceId}-${spanId}-00`): BridgeEvent {
  const event = anAdvertStatusChanged({ advertId });
  return {
    ...event,
    detail: { ...event.detail, metadata: { ...event.detail.metadata, traceparent } },
  } as BridgeEvent;
}

describe('the traceparent of an event', () => {
  it('is a link to the span of another process', () => {
    const [link] = spanLinksOf(traced('1'));

    expect(link).toEqual({ context: { traceId, spanId, traceFlags: 0, isRemote: true } });
    expect(api.isSpanContextValid(link?.context as api.SpanContext)).toBe(true);
  });

  it('keeps its flags', () => {
    expect(spanLinksOf(traced('1', `00-${traceId}-${spanId}-03`))[0]?.context.traceFlags).toBe(3);
  });

  it.each([
    '',
    'none',
    5,
    null,
    { toString: 1 },
    `00-${traceId}-${spanId}`,
    `00-${traceId}-${spanId}-00-more`,
    `01-${traceId}-${spanId}-00`,
    `00-${traceId.toUpperCase()}-${spanId}-00`,
    `00-${'0'.repeat(32)}-${spanId}-00`,
    `00-${traceId}-${'0'.repeat(16)}-00`,
  ])('is ignored when it is %j, and the event is one all the same', (traceparent) => {
    const event = parseBody(JSON.stringify(traced('1', traceparent)));

    expect(spanLinksOf(event)).toEqual([]);
  });

  it('is left out of events that have none', () => {
    expect(spanLinksOf(parseEvent(anAdvertStatusChanged()))).toEqual([]);
    expect(spanLinksOf(aPartnerAuthorizationRequired())).toEqual([]);
  });
});

describe('an event handler that is given OpenTelemetry', () => {
  const exporter = new InMemorySpanExporter();
  const handlerWith = (on: EventHandlerOptions['on']) =>
    advertEventHandler({
      positions: createInMemoryPositions(),
      on,
      onError: () => undefined,
      tracing: { api },
    });

  beforeEach(() => {
    exporter.reset();
    const spanProcessors = [new SimpleSpanProcessor(exporter)];
    api.trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors }));
    api.context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  });
  afterEach(() => {
    api.trace.disable();
    api.context.disable();
  });

  it('calls each function within a consumer span that links to the message of the bridge', async () => {
    const handler = handlerWith({
      AdvertStatusChanged: () => api.trace.getTracer('mine').startSpan('write').end(),
    });
    const event = traced('1');

    await handler(aLambdaEvent([event, anAdvertStatusChanged({ advertId: '2' })]));

    const spans = exporter.getFinishedSpans();
    const [own, other] = spans.filter(({ name }) => name === 'process AdvertStatusChanged');
    expect(own).toMatchObject({
      kind: api.SpanKind.CONSUMER,
      links: [{ context: { traceId, spanId } }],
      attributes: { 'advert_bridge.event_id': event.detail.metadata.eventId },
      status: { code: api.SpanStatusCode.UNSET },
    });
    expect(other?.links).toEqual([]);
    // A trace of the subscriber's own, not the bridge's.
    expect(own?.spanContext().traceId).not.toBe(traceId);
    const writes = spans.filter(({ name }) => name === 'write');
    expect(writes.map(({ parentSpanContext }) => parentSpanContext?.spanId)).toEqual(
      [own, other].map((span) => span?.spanContext().spanId),
    );
  });

  it('notes what a function throws, and the event comes again', async () => {
    const handler = handlerWith({
      AdvertStatusChanged: () => {
        throw new Error('the index is down');
      },
    });

    const answer = await handler(aLambdaEvent([traced('1')]));

    expect(answer?.batchItemFailures).toHaveLength(1);
    const [span] = exporter.getFinishedSpans();
    expect(span?.status.code).toBe(api.SpanStatusCode.ERROR);
    expect(span?.events[0]?.attributes?.['exception.message']).toBe('the index is down');
  });

  it('makes no span for what has no function or was applied before', async () => {
    const handler = handlerWith({ AdvertStatusChanged: () => undefined });

    await handler(aLambdaEvent([traced('1'), aPartnerAuthorizationRequired()]));
    await handler(aLambdaEvent([traced('1')]));

    expect(exporter.getFinishedSpans()).toHaveLength(1);
  });

  it('says what it wants when it is given something else', () => {
    const options = { positions: createInMemoryPositions(), on: { AdvertStatusChanged: () => undefined } };
    const wrong = { ...options, tracing: { api: {} } } as unknown as EventHandlerOptions;

    expect(() => advertEventHandler(wrong)).toThrow(
      'tracing: expected { api } with what `@opentelemetry/api` exports',
    );
  });

  it('leaves a batch to a span of your own', async () => {
    const positions = createInMemoryPositions();
    const handler = advertBatchHandler({ positions }, async ({ deliveries }) => {
      const links = deliveries.flatMap(({ event }) => spanLinksOf(event));
      api.trace.getTracer('mine').startSpan('write', { links }).end();
    });

    await handler(aLambdaEvent([traced('1'), traced('2')]));

    expect(exporter.getFinishedSpans()[0]?.links).toHaveLength(2);
  });
});

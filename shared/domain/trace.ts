/** The trace of one page of a feed. */
export interface Trace {
  /** 32 hex digits. */
  readonly id: string;
  /** A `traceparent` (W3C Trace Context) with a span ID of its own, for one message. */
  readonly traceparent: () => string;
}

type RandomBytes = (count: number) => Buffer;

/**
 * Begins a trace. Its flag "sampled" is not set, for the bridge records no spans. Span IDs are counted: they have to be
 * unique within their trace alone, and random bytes for each message would cost more than making the message.
 */
function newTrace(randomBytes: RandomBytes): Trace {
  const id = randomBytes(16).toString('hex');
  const half = randomBytes(4).toString('hex');
  let count = 0;
  const spanId = () => half + (++count).toString(16).padStart(8, '0');
  return { id, traceparent: () => `00-${id}-${spanId()}-00` };
}

/** What begins the trace of a page, where the setting `tracing` asks for it. */
export const tracerFor = (
  { tracing }: { readonly tracing: boolean },
  randomBytes: RandomBytes,
): (() => Trace) | undefined => (tracing ? () => newTrace(randomBytes) : undefined);

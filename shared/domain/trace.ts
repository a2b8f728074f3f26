/** The trace of one page of a feed. */
export interface Trace {
  /** 32 hex digits. */
  readonly id: string;
  /** Returns a `traceparent` (W3C Trace Context) with a new span ID, for one message. */
  readonly traceparent: () => string;
}

type RandomBytes = (count: number) => Buffer;

/**
 * Begins a trace. The flag "sampled" is not set, because the bridge records no spans. Span IDs are a counter: they have
 * to be unique only within their trace, and random bytes for each message would cost more than building the message.
 */
function newTrace(randomBytes: RandomBytes): Trace {
  const id = randomBytes(16).toString('hex');
  const half = randomBytes(4).toString('hex');
  let count = 0;
  const spanId = () => half + (++count).toString(16).padStart(8, '0');
  return { id, traceparent: () => `00-${id}-${spanId()}-00` };
}

/** The function that begins the trace of a page, if the setting `tracing` is on. */
export const tracerFor = (
  { tracing }: { readonly tracing: boolean },
  randomBytes: RandomBytes,
): (() => Trace) | undefined => (tracing ? () => newTrace(randomBytes) : undefined);

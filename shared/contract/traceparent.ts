/**
 * A `traceparent` of version 00: trace ID, span ID (neither may be all zeros), flags.
 *
 * @see https://www.w3.org/TR/trace-context/#traceparent-header
 */
export const traceparentPattern = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})$/;

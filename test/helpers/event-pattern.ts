/**
 * Whether an event matches an EventBridge pattern of plain values: every field of the pattern must be in the event,
 * with one of the listed values, and of `$or` one of the patterns must match. Written from AWS's description, for tests of what the construct makes; the deploy test
 * asks the emulator the same.
 *
 * @see https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-event-patterns.html
 */
export function matches(pattern: unknown, event: unknown): boolean {
  if (Array.isArray(pattern)) {
    const values: unknown[] = Array.isArray(event) ? event : [event];
    return values.some((value) => pattern.includes(value));
  }
  if (typeof pattern !== 'object' || pattern === null) throw new Error('a pattern is objects and lists');
  if (typeof event !== 'object' || event === null) return false;
  return Object.entries(pattern).every(([key, inner]) => {
    if (key === '$or') return (inner as unknown[]).some((each) => matches(each, event));
    const value = (event as Record<string, unknown>)[key];
    return value !== undefined && matches(inner, value);
  });
}

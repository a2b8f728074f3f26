/**
 * Replaces `@smithy/core/event-streams` in the bundles of the functions (esbuild's `--alias`). Lambda's client imports
 * that module for streamed answers, which no function uses; it has 15 KB.
 */
export const resolveEventStreamSerdeConfig = <Config>(config: Config): Config => config;

export const eventStreamSerdeProvider = (): undefined => undefined;

/** @throws {Error} always, because the SDK creates an instance only for a streamed answer */
export class EventStreamSerde {
  constructor() {
    throw new Error('event streams are left out of this bundle: see shared/aws/bundling/no-event-streams.ts');
  }
}

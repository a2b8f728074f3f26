/**
 * Takes the place of `@smithy/core/event-streams` in the bundles of the functions (esbuild's `--alias`). Lambda's client
 * brings it along for answers that are streamed, which no function asks for; the original has 15 KB.
 */
export const resolveEventStreamSerdeConfig = <Config>(config: Config): Config => config;

export const eventStreamSerdeProvider = (): undefined => undefined;

/** @throws {Error} always: the SDK makes one only for a streamed answer */
export class EventStreamSerde {
  constructor() {
    throw new Error('event streams are left out of this bundle: see shared/aws/bundling/no-event-streams.ts');
  }
}

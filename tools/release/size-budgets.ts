/**
 * In KB of 1,000 bytes. A check fails above these limits, so that exceeding one is a decision and not an accident.
 */
export const maxKb = {
  /** A Lambda bundle, whose size affects each cold start (docs/decisions/0006-own-code.md). */
  bundle: 600,
  /** The tarball of `npm pack`, compressed: half of it are the prebuilt Lambda functions of the construct. */
  package: 1600,
  /** The tarball of the subscriber's kit, compressed: a third of it are its pages, the schemas and the vectors. */
  kit: 125,
} as const;

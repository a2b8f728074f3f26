/**
 * In KB of 1,000 bytes. A check fails above these limits, so that exceeding one is a decision and not an accident.
 */
export const maxKb = {
  /** A Lambda bundle, whose size affects each cold start. The largest, fan-out, has 449. */
  bundle: 450,
  /**
   * The tarball of `npm pack`, compressed. It has 2,275: 770 for the command line, the library and the pages, 610 for
   * the prebuilt Lambda functions of the construct, 840 for the source maps that make their stack traces readable.
   */
  package: 2400,
  /** The tarball of the subscriber's kit, compressed. It has 63. */
  kit: 70,
} as const;

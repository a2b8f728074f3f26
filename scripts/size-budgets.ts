/** In KB of 1,000 bytes. A check fails above them; what needs more is a decision, not an accident. */
export const maxKb = {
  /** A Lambda bundle: its size is paid with each cold start. The largest, fan-out, has 449. */
  bundle: 450,
  /**
   * The tarball that `npm pack` makes, compressed. It has 2,275: 770 are the command line, the library and the pages, 610 the
   * Lambda functions ready-made for the construct, 840 the source maps that make their stack traces readable.
   */
  package: 2400,
  /** The tarball of the subscriber's kit, compressed. It has 66. */
  kit: 100,
} as const;

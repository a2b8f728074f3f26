/** In KB of 1,000 bytes. A check fails above them; what needs more is a decision, not an accident. */
export const maxKb = {
  /** A Lambda bundle: its size is paid with each cold start. The largest, fan-out, has 441. */
  bundle: 450,
  /** The tarball that `npm pack` makes, compressed: most of it is the command line. */
  package: 650,
} as const;

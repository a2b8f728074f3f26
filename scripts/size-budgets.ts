/** In KB of 1,000 bytes. A check fails above them; what needs more is a decision, not an accident. */
export const maxKb = {
  /** A Lambda bundle: its size is paid with each cold start. The largest, fan-out, has 449. */
  bundle: 450,
  /**
   * The tarball that `npm pack` makes, compressed: most of it is the command line, 130 of it the AWS clients that `doctor`,
   * `history` and `tail` ask (CloudWatch, its logs, EventBridge Scheduler, SNS, STS).
   */
  package: 800,
  /** The tarball of the subscriber's kit, compressed. It has 63. */
  kit: 100,
} as const;

/** Messages that wait outside the queue for a person or the end of a pause; fan-out parks them. */
export interface ParkedMessages {
  /** Partner accounts that have some. Strongly consistent. */
  accounts(): Promise<readonly string[]>;
  /**
   * Puts the account's messages back into the queue, oldest first, under their own keys; their age begins anew.
   *
   * @returns how many
   */
  release(partnerAccount: string, options: ReleaseOptions): Promise<number>;
}

export interface ReleaseOptions {
  /** Messages to put back at most. */
  readonly most: number;
  /** Ms since 1970: no further portion is begun after it. */
  readonly deadlineMs: number;
}

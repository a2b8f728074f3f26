/**
 * The input is not an event that this version of the kit can read: it belongs in a dead-letter queue. `code` is for
 * programs, and the message is for people; neither repeats the input.
 */
export class RefusedEventError extends Error {
  override readonly name = 'RefusedEventError';
  /**
   * - `not-an-event`: not JSON, from another source, or of another shape.
   * - `unsupported-version`: a major version of the schema that this version of the kit does not support.
   * - `unknown-detail-type`: a detail type that is newer than this version of the kit.
   */
  readonly code: 'not-an-event' | 'unsupported-version' | 'unknown-detail-type';
  /** A retry with the same input cannot succeed. */
  readonly retryable = false;

  constructor(code: RefusedEventError['code'], message: string) {
    super(message);
    this.code = code;
  }
}

/**
 * Another worker is applying events of this advert, or died while it did so. Leave the message in the queue: it is
 * delivered again.
 */
export class AdvertBusyError extends Error {
  override readonly name = 'AdvertBusyError';
  readonly code = 'advert-busy';
  readonly retryable = true;

  constructor(key: string, until: number) {
    super(
      `another worker is applying events of advert ${key}, until ${new Date(until).toISOString()} at the latest`,
    );
  }
}

/**
 * The claim expired before the events were applied, and another worker may have taken over. Set `leaseMs` to more than
 * the time that applying can take.
 */
export class ClaimLostError extends Error {
  override readonly name = 'ClaimLostError';
  readonly code = 'claim-lost';
  readonly retryable = true;

  constructor(key: string) {
    super(`the claim on advert ${key} ran out before its events were applied`);
  }
}

/** Every record of a batch failed, so the invocation must count as failed. `cause` is the first failure. */
export class BatchFailedError extends Error {
  override readonly name = 'BatchFailedError';
  readonly code = 'batch-failed';
  readonly retryable = true;

  constructor(records: number, cause: unknown) {
    const all = records === 1 ? 'the record' : `all ${records} records`;
    super(`${all} of the batch failed: ${inShort(cause)}`, { cause });
  }
}

/** Escapes line breaks and all characters that a terminal would obey or not show. */
const printable = (text: string): string =>
  text.replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu,
    (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`,
  );

export const inShort = (error: unknown): string =>
  error instanceof Error ? `${error.name}: ${error.message}` : String(error);

/** A line for the log. */
export const line = (text: string): string => printable(`advert-bridge: ${text}`);

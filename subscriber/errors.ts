/**
 * Why an input is not accepted as an event. `code` is for programs, and the message is for people; neither repeats the
 * input.
 */
export type RefusalCode = 'not-an-event' | 'unknown-detail-type' | 'unsupported-version';

/** The input is not an event that this version of the kit can read: it belongs in a dead-letter queue. */
export abstract class RefusedEventError extends Error {
  abstract readonly code: RefusalCode;
  /** A retry with the same input cannot succeed. */
  readonly retryable = false;
}

/** The body is not an event of the bridge: it is not JSON, comes from another source, or has another shape. */
export class NotAnEventError extends RefusedEventError {
  override readonly name = 'NotAnEventError';
  readonly code = 'not-an-event';
  /** What is wrong and where, such as `detail.metadata.sequence: missing`. */
  readonly reason: string;

  constructor(reason: string, options?: ErrorOptions) {
    super(`not an event of the advert bridge: ${reason}`, options);
    this.reason = reason;
  }
}

/** An event of the bridge whose type is newer than this version of the kit. */
export class UnknownDetailTypeError extends RefusedEventError {
  override readonly name = 'UnknownDetailTypeError';
  readonly code = 'unknown-detail-type';
  readonly detailType: string;

  constructor(detailType: string) {
    super(
      `detail type ${detailType} is unknown to this version of advert-bridge-kit: update it, or name the detail types you want in your rule`,
    );
    this.detailType = detailType;
  }
}

/** An event whose schema has a major version that the kit does not support. */
export class UnsupportedVersionError extends RefusedEventError {
  override readonly name = 'UnsupportedVersionError';
  readonly code = 'unsupported-version';
  readonly schemaVersion: string;

  constructor(schemaVersion: string, supportedMajor: string) {
    super(
      `schema version ${schemaVersion} is not supported by this version of advert-bridge-kit, which reads ${supportedMajor}.x: update it`,
    );
    this.schemaVersion = schemaVersion;
  }
}

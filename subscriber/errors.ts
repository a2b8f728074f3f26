/**
 * Why something that arrived is not handed on as an event. `code` is for programs, the message for a person; neither
 * repeats what was received.
 */
export type RefusalCode = 'not-an-event' | 'unknown-detail-type' | 'unsupported-version';

/** What arrived will never become an event for this version of the kit: it belongs in a dead-letter queue. */
export abstract class RefusedEventError extends Error {
  abstract readonly code: RefusalCode;
  /** To try again unchanged is of no use. */
  readonly retryable = false;
}

/** The body is no event of the bridge: not JSON, from another source, or of another shape. */
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

/** An event of the bridge, of a kind that came after this version of the kit. */
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

/** An event whose shape has another major version than the kit reads. */
export class UnsupportedVersionError extends RefusedEventError {
  override readonly name = 'UnsupportedVersionError';
  readonly code = 'unsupported-version';
  readonly schemaVersion: string;

  constructor(schemaVersion: string, supportedMajor: string) {
    super(
      `schema version ${schemaVersion} is not read by this version of advert-bridge-kit, which reads ${supportedMajor}.x: update it`,
    );
    this.schemaVersion = schemaVersion;
  }
}

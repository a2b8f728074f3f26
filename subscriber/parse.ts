import * as v from 'valibot';
import { flawsOf, ShapeError } from '../shared/contract/checks.ts';
import { type Envelope, envelopes } from '../shared/contract/events.ts';
import { eventSource, schemaVersion } from '../shared/contract/names.ts';
import { NotAnEventError, UnknownDetailTypeError, UnsupportedVersionError } from './errors.ts';

/** Any event of the bridge; `event['detail-type']` says which one. */
export type BridgeEvent = Envelope;

/** The part of an SQS record that the kit uses: Lambda's record has `body`, and that of `ReceiveMessage` has `Body`. */
export type SqsRecord =
  | { readonly body: string; readonly messageId?: string }
  | { readonly Body?: string | undefined; readonly MessageId?: string | undefined };

const supportedMajor = schemaVersion.split('.')[0] as string;

/** Checked before the rest of the shape, because a newer major version may have another shape. */
const outline = v.object({
  source: v.literal(eventSource, `expected ${eventSource}`),
  'detail-type': v.pipe(v.string(), v.regex(/^[\w.-]{1,128}$/, 'expected a detail type')),
  detail: v.object({
    metadata: v.object({
      schemaVersion: v.pipe(v.string(), v.regex(/^\d{1,9}\.\d{1,9}$/, 'expected a version such as 1.0')),
    }),
  }),
});

/**
 * Parses an event as EventBridge sends it to a target: `detail` is an object. Unknown fields are kept, and any status
 * is accepted.
 *
 * @returns the given value itself, typed by its detail type
 * @throws {NotAnEventError} the value is not an event; the message names each wrong place
 * @throws {UnsupportedVersionError} the kit does not support its major version
 * @throws {UnknownDetailTypeError} the kit is too old to know its detail type
 */
export function parseEvent(value: unknown): BridgeEvent {
  const { 'detail-type': detailType, detail } = fits(outline, value);
  const version = detail.metadata.schemaVersion;
  if (version.split('.')[0] !== supportedMajor) throw new UnsupportedVersionError(version, supportedMajor);
  if (!Object.hasOwn(envelopes, detailType)) throw new UnknownDetailTypeError(detailType);
  fits(envelopes[detailType as keyof typeof envelopes], value);
  // Not the schema's copy, which does not have the fields that a newer minor version added.
  return value as BridgeEvent;
}

/**
 * Parses the body of an SQS message that an EventBridge rule sent: the event as JSON.
 *
 * @throws {RefusedEventError} like {@link parseEvent}; text that is not JSON throws a {@link NotAnEventError}
 */
export function parseBody(body: string): BridgeEvent {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    // The parser's message quotes the text, so it is not included in the error.
    throw new NotAnEventError('expected JSON');
  }
  return parseEvent(value);
}

/**
 * Parses an SQS record from Lambda or `ReceiveMessage`.
 *
 * @throws {RefusedEventError} like {@link parseBody}
 */
export function parseSqsRecord(record: SqsRecord): BridgeEvent {
  const { body } = partsOf(record);
  if (typeof body !== 'string') throw new NotAnEventError('expected an SQS record with a body');
  return parseBody(body);
}

/** Body and message ID of a record, in either spelling. */
export function partsOf(record: SqsRecord) {
  const {
    Body,
    MessageId,
    body = Body,
    messageId = MessageId,
  } = record as Partial<Record<'body' | 'messageId' | 'Body' | 'MessageId', string>>;
  return { body, messageId };
}

function fits<S extends v.GenericSchema<unknown, unknown>>(schema: S, value: unknown): v.InferOutput<S> {
  const result = v.safeParse(schema, value);
  if (result.success) return result.output;
  const flaws = new ShapeError('', flawsOf(result.issues)).message.replace(/^: /, '');
  throw new NotAnEventError(flaws);
}

import * as v from 'valibot';
import { flawsOf, ShapeError } from '../shared/contract/checks.ts';
import { type Envelope, envelopes } from '../shared/contract/events.ts';
import { eventSource, schemaVersion } from '../shared/contract/names.ts';
import { NotAnEventError, UnknownDetailTypeError, UnsupportedVersionError } from './errors.ts';

/** Any event of the bridge; `event['detail-type']` tells which. */
export type BridgeEvent = Envelope;

/** What the kit needs of an SQS record: Lambda's has `body`, that of `ReceiveMessage` has `Body`. */
export type SqsRecord =
  | { readonly body: string; readonly messageId?: string }
  | { readonly Body?: string | undefined; readonly MessageId?: string | undefined };

const supportedMajor = schemaVersion.split('.')[0] as string;

/** What is looked at before the shape: a newer major version may have another one. */
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
 * An event as EventBridge hands it to a target: `detail` is an object. Fields that this version does not know stay
 * where they are, and any status passes.
 *
 * @returns the value itself, with the type of its detail type
 * @throws {NotAnEventError} what it is instead of an event, by places
 * @throws {UnsupportedVersionError} its major version is another than the kit's
 * @throws {UnknownDetailTypeError} the bridge publishes something that the kit is too old for
 */
export function parseEvent(value: unknown): BridgeEvent {
  const { 'detail-type': detailType, detail } = fits(outline, value);
  const version = detail.metadata.schemaVersion;
  if (version.split('.')[0] !== supportedMajor) throw new UnsupportedVersionError(version, supportedMajor);
  if (!Object.hasOwn(envelopes, detailType)) throw new UnknownDetailTypeError(detailType);
  fits(envelopes[detailType as keyof typeof envelopes], value);
  // Not the schema's copy: that has lost the fields which a newer minor version added.
  return value as BridgeEvent;
}

/**
 * The body of an SQS message that an EventBridge rule sent: the event as JSON.
 *
 * @throws {RefusedEventError} as {@link parseEvent}; for text that is no JSON a {@link NotAnEventError}
 */
export function parseBody(body: string): BridgeEvent {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    // The parser's message quotes the text, so it stays out of the error.
    throw new NotAnEventError('expected JSON');
  }
  return parseEvent(value);
}

/**
 * An SQS record, as Lambda or as `ReceiveMessage` gives it.
 *
 * @throws {RefusedEventError} as {@link parseBody}
 */
export function parseSqsRecord(record: SqsRecord): BridgeEvent {
  const { body } = partsOf(record);
  if (typeof body !== 'string') throw new NotAnEventError('expected an SQS record with a body');
  return parseBody(body);
}

/** Body and message ID of a record, whichever way they are written. */
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

import * as v from 'valibot';
import { flawsOf, ShapeError } from '../../shared/contract/checks.ts';
import { type Envelope, envelopes } from '../../shared/contract/events.ts';
import { eventSource, schemaVersion } from '../../shared/contract/names.ts';
import { RefusedEventError } from './errors.ts';

/** Any event of the bridge; `event['detail-type']` says which one. */
export type BridgeEvent = Envelope;

const supportedMajor = schemaVersion.split('.')[0];

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
 * @throws {RefusedEventError} for anything else; the message names each wrong place
 */
export function parseEvent(value: unknown): BridgeEvent {
  const { 'detail-type': detailType, detail } = fits(outline, value);
  const version = detail.metadata.schemaVersion;
  if (version.split('.')[0] !== supportedMajor) {
    throw new RefusedEventError(
      'unsupported-version',
      `schema version ${version} is not supported by this version of advert-bridge-kit, which reads ${supportedMajor}.x: update it`,
    );
  }
  if (!Object.hasOwn(envelopes, detailType)) {
    throw new RefusedEventError(
      'unknown-detail-type',
      `detail type ${detailType} is unknown to this version of advert-bridge-kit: update it, or name the detail types you want in your rule`,
    );
  }
  fits(envelopes[detailType as keyof typeof envelopes], value);
  // Not the schema's copy, which does not have the fields that a newer minor version added.
  return value as BridgeEvent;
}

/**
 * Parses the body of an SQS message that an EventBridge rule sent: the event as JSON.
 *
 * @throws {RefusedEventError} like {@link parseEvent}
 */
export function parseBody(body: string): BridgeEvent {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    // The parser's message quotes the text, so it is not included in the error.
    throw notAnEvent('expected JSON');
  }
  return parseEvent(value);
}

const notAnEvent = (reason: string) =>
  new RefusedEventError('not-an-event', `not an event of the advert bridge: ${reason}`);

function fits<S extends v.GenericSchema<unknown, unknown>>(schema: S, value: unknown): v.InferOutput<S> {
  const result = v.safeParse(schema, value);
  if (result.success) return result.output;
  throw notAnEvent(new ShapeError('', flawsOf(result.issues)).message.replace(/^: /, ''));
}

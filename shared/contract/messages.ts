/** What stands in the queue between drain and fan-out, and in the dead-letter queue. */
import * as v from 'valibot';
import {
  advertId,
  checkedJson,
  form,
  instant,
  isOfNewerForm,
  partnerAccountName,
  ShapeError,
  wholeNumber,
} from './checks.ts';
import { cause, generation } from './events.ts';
import { feedNames } from './feeds.ts';
import { traceparentPattern } from './traceparent.ts';

/**
 * How often a queue hands a message out before it moves it to the dead letters by itself, without noting the event that
 * is owed, so it must never come to that. The most that SQS takes is 1,000.
 *
 * @see https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-dead-letter-queues.html
 */
export const maxReceiveCount = 1_000;

/** One advert, or other object, that a page of a feed named. */
export const changedAdvert = v.object({
  form,
  /**
   * `<readId>:<advertId>`, fresh for every page read, also its deduplication ID. Fan-out finds its own work again
   * by it, so it stays the same when the message is delivered or redriven again (a message ID does not).
   */
  key: v.pipe(v.string(), v.minLength(3), v.maxLength(128)),
  partnerAccount: partnerAccountName,
  generation,
  feed: v.picklist(feedNames, 'expected a feed that this bridge has'),
  /** ID of the object that changed, whichever feed named it. */
  advertId,
  listedAt: instant,
  cause,
  /** The readId of the page. */
  correlationId: v.string(),
  /** Goes into the event as it is. One that is not valid is left out: tracing must not cost an event. */
  traceparent: v.optional(v.fallback(v.optional(v.pipe(v.string(), v.regex(traceparentPattern))), undefined)),
});
export type ChangedAdvert = v.InferOutput<typeof changedAdvert>;

/**
 * What a message was about as far as its body tells: for whoever looks at its dead letter, and for the order of an advert's
 * messages. So these fields stay what they are in every form.
 */
const subject = v.object({
  partnerAccount: v.fallback(v.nullable(partnerAccountName), null),
  advertId: v.fallback(v.nullable(advertId), null),
});
export type Subject = v.InferOutput<typeof subject>;

/** A body of the queue: a message, or why it is none. Another version of the bridge may have written it. */
export function messageIn(body: string): MessageRead {
  try {
    return { message: checkedJson(changedAdvert, body, 'message') };
  } catch (error) {
    if (!(error instanceof ShapeError)) throw error;
    const isNewer = isOfNewerForm(error);
    return { flaw: error.message, about: subjectOf(body), ...(isNewer && { isNewer }) };
  }
}
export type MessageRead =
  | { readonly message: ChangedAdvert }
  | { readonly flaw: string; readonly about: Subject; readonly isNewer?: true };

function subjectOf(body: string): Subject {
  try {
    return checkedJson(subject, body, 'message');
  } catch {
    return { partnerAccount: null, advertId: null };
  }
}

/** Why a message is here, for a person and for a redrive. */
export const deadLetter = v.object({
  form,
  partnerAccount: v.nullable(partnerAccountName),
  /** As it was listed: a malformed ID is here for being no ID, the first one of its page. At most 256 characters. */
  advertId: v.nullable(v.string()),
  /** Which feed listed malformed IDs; absent: adverts. */
  feed: v.exactOptional(v.picklist(feedNames)),
  /** How many malformed IDs of one page the letter stands for, and counts for in the books; absent: 1. */
  count: v.exactOptional(wholeNumber(1)),
  /** The kind of fault, such as `contract-broken` (see shared/domain/faults.ts), or `malformed-id`. */
  fault: v.string(),
  /** In words, without secrets. */
  reason: v.string(),
  at: instant,
  /** How often the message had been delivered. */
  receives: v.number(),
  /** What a redrive sends again; `null` where there is nothing to send. */
  message: v.nullable(changedAdvert),
});
export type DeadLetter = v.InferOutput<typeof deadLetter>;

/** The feeds, and the messages of what they list: in the queue between drain and fan-out, and as dead letters. */
import * as v from 'valibot';
import {
  advertId,
  checkedJson,
  form,
  instant,
  parsedJson,
  partnerAccountName,
  ShapeError,
  wholeNumber,
} from './checks.ts';
import { cause, generation } from './events.ts';
import { detailTypes } from './names.ts';

/** A feed of changed objects, with everything in which feeds differ. How to add one: "A feed" in docs/contribute/checklists.md. */
export interface Feed {
  /** Part of state keys and messages; never changes. */
  readonly name: FeedName;
  readonly path: string;
  pathOf(id: string): string;
  /** Word for an object, in the `resources` of its events; its events' data has the ID in `<object>Id`. */
  readonly object: string;
  readonly detailTypes: { readonly statusChanged: string; readonly unavailable: string };
  /** Precedes the ID in keys and event IDs, which all feeds of an account share: unique, and it never changes. */
  readonly keyPrefix: string;
}

/** @see partner-api.md §4.1, §4.3 */
export const advertsFeed: Feed = {
  name: 'adverts',
  path: '/api/partner/status/adverts',
  pathOf: (advertId) => `/api/partner/adverts/${advertId}`,
  object: 'advert',
  detailTypes,
  keyPrefix: '',
};

export const feedNames = ['adverts'] as const;
export type FeedName = (typeof feedNames)[number];

export const feeds: Readonly<Record<FeedName, Feed>> = { adverts: advertsFeed };

/** @returns undefined for a feed that this version does not know: a newer version may have stored its state */
export const feedNamed = (name: string): Feed | undefined =>
  Object.values(feeds).find((feed) => feed.name === name);

/** Requested page size: the service's maximum (partner-api.md §8). */
export const pageLimit = 1000;

/**
 * Number of receives after which a queue itself dead-letters a message: SQS's maximum, because nobody counts the message.
 *
 * @see https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-dead-letter-queues.html
 */
export const maxReceiveCount = 1_000;

/** One advert, or other object, that a page of a feed listed. */
export const changedAdvert = v.object({
  form,
  /**
   * `<readId>:<advertId>`, new for every page read; also the deduplication ID. Fan-out recognises its own writes by
   * this key, so the key stays the same over redeliveries and redrives (a message ID does not).
   */
  key: v.pipe(v.string(), v.minLength(3), v.maxLength(128)),
  partnerAccount: partnerAccountName,
  generation,
  feed: v.picklist(feedNames, 'expected a feed that this bridge has'),
  /** ID of the changed object, of whichever feed. */
  advertId,
  listedAt: instant,
  cause,
  /** The readId of the page. */
  correlationId: v.string(),
  /** An operator redrove it: it waits in its turn, however long ago it was listed. */
  redriven: v.exactOptional(v.literal(true, 'expected true')),
  /** It failed and waited outside the queue: how often, and for how long in all, which no clock that is set can change. */
  failed: v.exactOptional(v.object({ times: wholeNumber(1), waitedMs: v.number() })),
  /** After it failed, an operator has it tried once more: what the service answers now is believed without a witness. */
  believed: v.exactOptional(v.literal(true, 'expected true')),
});
export type ChangedAdvert = v.InferOutput<typeof changedAdvert>;

/** What a message is about, as far as its body can be read. These fields stay the same in every form. */
const subject = v.fallback(
  v.object({
    partnerAccount: v.fallback(v.nullable(partnerAccountName), null),
    advertId: v.fallback(v.nullable(advertId), null),
  }),
  { partnerAccount: null, advertId: null },
);

/** The body of a queue message, which another version of the bridge may have written. */
export function messageIn(body: string): MessageRead {
  try {
    return { message: checkedJson(changedAdvert, body, 'message') };
  } catch (error) {
    if (!(error instanceof ShapeError)) throw error;
    const isNewer = error.flaws.some(({ path }) => path === 'form') || isOfUnknownFeed(parsedJson(body));
    return { flaw: error.message, about: v.parse(subject, parsedJson(body)), ...(isNewer && { isNewer }) };
  }
}

/** A newer bridge may have more feeds, without a newer form of the message. */
const isOfUnknownFeed = (value: unknown): boolean =>
  v.is(
    v.object({ ...changedAdvert.entries, feed: v.pipe(v.string(), v.regex(/^[a-z][a-z-]{0,63}$/)) }),
    value,
  );

export type MessageRead = { readonly message: ChangedAdvert } | UnreadMessage;

export interface UnreadMessage {
  /** Why the body does not match the contract. */
  readonly flaw: string;
  /** What it is about, as far as it can be read. */
  readonly about: v.InferOutput<typeof subject>;
  /** A newer bridge sent the message, in a newer form or of a feed that only it has; it waits for a worker of that version. */
  readonly isNewer?: true;
}

/** A dead letter: says for a person and for a redrive why the message was given up. */
export const deadLetter = v.object({
  form,
  partnerAccount: v.nullable(partnerAccountName),
  /** The ID as listed; in a dead letter for malformed IDs, the first one of the page. At most 256 characters. */
  advertId: v.nullable(v.string()),
  /** Number of malformed IDs of one page that this dead letter represents, also in the books; absent: 1. */
  count: v.exactOptional(wholeNumber(1)),
  /** The kind of fault, such as `contract-broken` (see shared/domain/faults.ts), or `malformed-id`. */
  fault: v.string(),
  /** The reason in words, without secrets. */
  reason: v.string(),
  at: instant,
  /** How often the message had been delivered. */
  receives: v.number(),
  /** The message that a redrive sends again; `null` if there is nothing to send. */
  message: v.nullable(changedAdvert),
});
export type DeadLetter = v.InferOutput<typeof deadLetter>;

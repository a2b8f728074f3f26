import type { EventDetailType } from './detail-types.ts';

/** The description of each event, in the schemas, the AsyncAPI document and the schema registry. */
export const summaries: Record<EventDetailType, string> = {
  AdvertStatusChanged:
    "An advert's status is another than the last one published, or the advert was seen for the first time.",
  AdvertUnavailable: 'The partner service does not know the advert any more.',
  PartnerAuthorizationRequired:
    'A partner account is not polled any more, until a person authorizes again. Its place in the feed is kept.',
  PartnerAuthorizationRestored: 'A partner account is polled again, from where it stopped.',
  OrderStatusChanged:
    "Assumed, and may change until the partner service has published its orders feed: an order's status is another than the last one published, or the order was seen for the first time.",
  OrderUnavailable:
    'Assumed, and may change until the partner service has published its orders feed: the service does not know the order any more.',
};

/** The description of each object inside an event, by its name in the schemas. */
export const partDescriptions: Readonly<Record<string, string>> = {
  AdvertMetadata: 'Which event of an advert it is, and where it came from.',
  AuthorizationMetadata: 'Which event of a partner account it is.',
  OrderMetadata: 'Which event of an order it is, and where it came from.',
};

/** The description of each field, by its path in any event; a detail type before the path limits it to that event. */
export const descriptions: Readonly<Record<string, string>> = {
  source: 'The publisher, in every event of the bridge.',
  'detail-type': 'Which event it is. What a rule matches.',
  time: '`observedAt` in whole seconds.',
  resources:
    'One name: `advert-bridge/<partnerAccount>/advert/<advertId>` or `advert-bridge/<partnerAccount>`.',
  detail: 'What the bridge says; everything around it is the envelope of EventBridge.',
  version: 'Of the envelope; set by EventBridge.',
  id: 'Set by EventBridge, and another one when an event is published again: deduplicate by `eventId`.',
  account: 'AWS account of the bus; set by EventBridge.',
  region: 'AWS region of the bus; set by EventBridge.',
  'replay-name': 'Set by EventBridge on an event that an archive replays.',
  'detail.metadata': 'Which event it is, and where it came from.',
  'detail.metadata.eventId':
    'The same for every copy of an event, and for no other; the `id` of EventBridge is not. Do not take it apart.',
  'detail.metadata.schemaVersion': 'Version of `detail`; the minor number rises when something is added.',
  'detail.metadata.partnerAccount': 'Name of the partner account, as the bridge knows it.',
  'detail.metadata.generation':
    'Begins anew, and greater, when the history of the partner account begins anew. Compared before `sequence`.',
  'detail.metadata.sequence': 'Number of the event in the history of the advert, from 1, without a hole.',
  'detail.metadata.listedAt': 'When the bridge received the page of the feed that named the advert; UTC.',
  'detail.metadata.observedAt': 'When the bridge received the answer that this event tells of; UTC.',
  'detail.metadata.cause': 'Why the advert was looked at. More causes may be added.',
  'detail.metadata.correlationId':
    'The same for everything that came of one page of the feed, also in the logs.',
  'detail.metadata.traceparent':
    'W3C Trace Context, where the bridge is set up to trace (`tracing`): the trace of the page of the feed, and a span ID of the message that this event came of. For a span link, not a parent. Ignore it when it is not valid.',
  'detail.data': 'What happened.',
  'detail.data.advertId': 'ID at the partner service: digits, as text because the number may exceed 2^53.',
  'AdvertStatusChanged.detail.data.status':
    'As the partner service names it; any value may come, never `null`.',
  'AdvertUnavailable.detail.data.status': 'Always `null`.',
  'detail.data.previousStatus':
    'Status of the event before it in the history; `null` for the first one, and after it was unavailable.',
  'detail.data.orderId': 'ID at the partner service: digits, as text because the number may exceed 2^53.',
  'OrderStatusChanged.detail.data.status':
    'As the partner service names it; any value may come, never `null`.',
  'OrderUnavailable.detail.data.status': 'Always `null`.',
  'detail.data.fields':
    'Values of the advert by their paths, as the bridge is set up to copy them (`eventFields`). What the service leaves out is absent.',
  'detail.data.fieldsLeftOut':
    'Paths whose values were left out: they had no room (all fields together have at most 8 KB), are nested more than 32 levels deep, or hold a whole number beyond 2^53.',
  'detail.data.reason': 'Why, as a word for programs. More reasons may be added.',
};

import type { Envelope } from '../../shared/contract/events.ts';

export type DetailType = Envelope['detail-type'];

/** The description of each event, in the schemas, the AsyncAPI document and the schema registry. */
export const summaries: Record<DetailType, string> = {
  AdvertStatusChanged:
    "An advert's status differs from the last published one, or the bridge fetched the advert for the first time.",
  AdvertUnavailable: 'The partner service no longer knows the advert.',
  PartnerAuthorizationRequired:
    'The bridge does not poll a partner account until its user authorizes again. The bridge keeps its position in the feed.',
  PartnerAuthorizationRestored:
    'The bridge polls a partner account again, from its last position in the feed.',
};

/** The description of each object inside an event, by its name in the schemas. */
export const partDescriptions: Readonly<Record<string, string>> = {
  AdvertMetadata: 'Identifies an event of an advert, and says why the bridge fetched the advert.',
  AuthorizationMetadata: 'Identifies an event of a partner account.',
};

/** The description of each field, by its path in any event; a detail type before the path limits it to that event. */
export const descriptions: Readonly<Record<string, string>> = {
  source: 'The publisher; the same in every event of the bridge.',
  'detail-type': 'Type of the event, for the pattern of a rule.',
  time: '`observedAt` in whole seconds.',
  resources:
    'One name: `advert-bridge/<partnerAccount>/advert/<advertId>` or `advert-bridge/<partnerAccount>`.',
  detail: 'Content of the event. The fields outside it are the envelope of EventBridge.',
  version: 'Version of the envelope; set by EventBridge.',
  id: 'Set by EventBridge. An event that is published again gets a new `id`: deduplicate by `eventId`.',
  account: 'AWS account of the bus; set by EventBridge.',
  region: 'AWS region of the bus; set by EventBridge.',
  'replay-name': 'Set by EventBridge when an event is replayed from an archive.',
  'detail.metadata': 'Identifies the event, and says when and why it was published.',
  'detail.metadata.eventId':
    'ID of the event, unique within its bridge. All copies of an event have the same one, unlike the `id` of EventBridge. Do not parse it.',
  'detail.metadata.schemaVersion': 'Version of `detail`; an addition gives it a greater minor number.',
  'detail.metadata.bridge':
    'Name of the bridge (its setting `stackName`). Histories of two bridges are independent, and two bridges may use the same names of partner accounts. Absent in events before version 1.1.',
  'detail.metadata.partnerAccount': 'Name of the partner account in the bridge.',
  'detail.metadata.generation':
    'Number of the history of the partner account. It increases when the bridge starts a new history, in which `sequence` starts at 1 again: compare `generation` first, then `sequence`.',
  'detail.metadata.sequence':
    'Number of the event in the history of the advert within its generation: 1, 2, 3 and so on, without gaps.',
  'detail.metadata.listedAt':
    'When the bridge received the page of the feed that listed the advert; for a backfill or an audit, when it queued the advert; UTC.',
  'detail.metadata.observedAt':
    'When the bridge received the answer that this event reports, or noticed the change of authorization; UTC.',
  'detail.metadata.cause': 'Why the bridge fetched the advert. More causes may be added.',
  'detail.metadata.correlationId':
    'ID of the page of the feed: the same in all events and log lines that result from one page.',
  'detail.data': 'What changed.',
  'detail.data.advertId':
    'ID at the partner service: digits, as a string because the number may exceed 2^53.',
  'AdvertStatusChanged.detail.data.status':
    'Status in the words of the partner service. It can be any string, but never `null`.',
  'AdvertUnavailable.detail.data.status': 'Always `null`.',
  'detail.data.previousStatus':
    'Status of the previous event in the history; `null` in the first event, and after `AdvertUnavailable`.',
  'detail.data.fields':
    'Values copied from the advert, by path. The operator chooses the paths (`eventFields`). A value that the service does not send is absent.',
  'detail.data.fieldsLeftOut':
    'Paths of values left out: they did not fit (8 KB together), or have more than 32 levels, an integer beyond 2^53 or half an emoji.',
  'detail.data.reason': 'Reason, as a code. More reasons may be added.',
};

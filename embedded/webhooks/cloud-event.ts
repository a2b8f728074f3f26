import type { Envelope } from '../../shared/contract/events.ts';

/**
 * An event in the structured mode of CloudEvents. `source` and `id` are the same for every copy of an event.
 *
 * @param envelope JSON of the whole event
 * @see https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/bindings/http-protocol-binding.md
 */
export function cloudEventOf(envelope: string): string {
  const { source, 'detail-type': type, detail } = JSON.parse(envelope) as Envelope;
  const { eventId, partnerAccount, observedAt } = detail.metadata;
  return JSON.stringify({
    specversion: '1.0',
    id: eventId,
    source: `${source}/${partnerAccount}`,
    type,
    ...('advertId' in detail.data && { subject: `advert/${detail.data.advertId}` }),
    time: observedAt,
    datacontenttype: 'application/json',
    data: detail,
  });
}

import assert from 'node:assert/strict';
import { checked } from '../../../shared/contract/checks.ts';
import { type AdvertEvent, envelope } from '../../../shared/contract/events.ts';
import type { Received } from './subscriber.ts';

/** The statuses of an advert, oldest first; null: it was unavailable. */
export type Histories = ReadonlyMap<string, readonly (string | null)[]>;

/** The event, validated against the contract's schema. @throws {ShapeError} */
export function checkedEvent(received: Received): AdvertEvent {
  const event = checked(envelope, received, 'event at the subscriber');
  assert(event['detail-type'] === 'AdvertStatusChanged' || event['detail-type'] === 'AdvertUnavailable');
  return event;
}

/**
 * The histories that a subscriber sees: each event once, in the order of sequence numbers.
 *
 * @throws {AssertionError} for a gap, for two different contents with one event ID, for a `previousStatus` that is
 * not the previous status, and for an event that arrived before its predecessor
 */
export function historiesOf(received: readonly Received[]): Histories {
  const contents = new Map<string, string>();
  const histories = new Map<string, (string | null)[]>();
  for (const event of received.map(checkedEvent)) {
    const { metadata, data } = event.detail;
    const content = JSON.stringify(event.detail);
    const before = contents.get(metadata.eventId);
    if (before !== undefined) {
      assert.equal(content, before, `${metadata.eventId} came twice, with different content`);
      continue;
    }
    contents.set(metadata.eventId, content);
    const { partnerAccount, generation, sequence } = metadata;
    assert.equal(metadata.eventId, `${partnerAccount}/${generation}/${data.advertId}/${sequence}`);
    assert.deepEqual(event.resources, [`advert-bridge/${partnerAccount}/advert/${data.advertId}`]);
    const history = histories.get(data.advertId) ?? [];
    assert.equal(sequence, history.length + 1, `sequence of advert ${data.advertId}`);
    assert.equal(data.previousStatus, history.at(-1) ?? null, `previousStatus of ${metadata.eventId}`);
    histories.set(data.advertId, [...history, data.status]);
  }
  return histories;
}

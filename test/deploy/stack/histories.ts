import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import {
  advertKeyOf,
  compareToApplied,
  type Position,
  positionOf,
} from '../../../kits/typescript/position.ts';
import type { Sandbox } from '../../../sandbox/server.ts';
import { checked } from '../../../shared/contract/checks.ts';
import { type AdvertEvent, envelope } from '../../../shared/contract/events.ts';
import { onItsWayMs, silenceMs } from './deployment.ts';
import type { Received, Subscriber } from './subscriber.ts';

/** The event, validated against the contract's schema. @throws {ShapeError} */
export function checkedEvent(received: Received): AdvertEvent {
  const event = checked(envelope, received, 'event at the subscriber');
  assert(event['detail-type'] === 'AdvertStatusChanged' || event['detail-type'] === 'AdvertUnavailable');
  return event;
}

/** Each event once. @throws {AssertionError} for two different contents with one event ID */
function distinct(received: readonly Received[]): AdvertEvent[] {
  const byId = new Map<string, AdvertEvent>();
  for (const event of received.map(checkedEvent)) {
    const { eventId } = event.detail.metadata;
    const before = byId.get(eventId);
    if (before) assert.deepEqual(event.detail, before.detail, `${eventId} came with two contents`);
    else byId.set(eventId, event);
  }
  return [...byId.values()];
}

/**
 * The statuses of each advert, oldest first; null: it was unavailable.
 *
 * @throws {AssertionError} for a gap, for a `previousStatus` that is not the previous status, and for an event that
 * arrived before its predecessor
 */
export function historiesOf(received: readonly Received[]): Map<string, (string | null)[]> {
  const histories = new Map<string, (string | null)[]>();
  for (const { detail, resources } of distinct(received)) {
    const { metadata, data } = detail;
    const { partnerAccount, generation, sequence, eventId } = metadata;
    assert.equal(eventId, `${partnerAccount}/${generation}/${data.advertId}/${sequence}`);
    assert.deepEqual(resources, [`advert-bridge/${partnerAccount}/advert/${data.advertId}`]);
    const history = histories.get(data.advertId) ?? [];
    assert.equal(sequence, history.length + 1, `sequence of advert ${data.advertId}`);
    assert.equal(data.previousStatus, history.at(-1) ?? null, `previousStatus of ${eventId}`);
    histories.set(data.advertId, [...history, data.status]);
  }
  return histories;
}

export const eventsOf = (partnerAccount: string, received: readonly Received[]): Received[] =>
  received.filter((event) => checkedEvent(event).detail.metadata.partnerAccount === partnerAccount);

/**
 * @param received of one partner account, from a folder and the stack to which it was moved
 * @throws {AssertionError} unless one history goes on in the other, up to the service's status of each advert
 */
export function checkMoved(control: Sandbox['control'], user: string, received: readonly Received[]): void {
  const latest = [...historiesOf(received)].map(([id, statuses]) => [id, statuses.at(-1)]);
  const truth = control.truth(user).map(({ id, status }) => [id, status]);
  assert.deepEqual(Object.fromEntries(latest), Object.fromEntries(truth));
  assert.equal(new Set(received.map((event) => checkedEvent(event).detail.metadata.bridge)).size, 1);
}

/**
 * The statuses of a partner account's adverts at a subscriber that applies an event only if it is newer than the last
 * applied one.
 *
 * @param received in the order of arrival
 * @throws {AssertionError} for a missing sequence number in a generation
 */
export function heldOf(received: readonly Received[], partnerAccount: string) {
  const generations = new Set<number>();
  const applied = new Map<string, Position>();
  const statuses: Record<string, string | null> = {};
  for (const event of distinct(received)) {
    const { metadata, data } = event.detail;
    if (metadata.partnerAccount !== partnerAccount) continue;
    const key = advertKeyOf(event);
    const { outcome, missing } = compareToApplied(applied.get(key), positionOf(event));
    assert.notEqual(outcome, 'gap', `${missing} events are missing before ${metadata.eventId}`);
    if (outcome !== 'apply') continue;
    applied.set(key, positionOf(event));
    generations.add(metadata.generation);
    statuses[data.advertId] = data.status;
  }
  return { statuses, generations };
}

/**
 * @param before events that the subscriber received elsewhere, earlier
 * @throws {AssertionError} unless the subscriber soon has the service's status of each advert of the partner account that
 * it ever had an event of; with `all`, of every advert
 */
export async function expectHeld(
  control: Sandbox['control'],
  account: string,
  subscriber: Subscriber,
  { before = [], all = true }: { readonly before?: readonly Received[]; readonly all?: boolean } = {},
): Promise<void> {
  const held = () => heldOf([...before, ...subscriber.received], account).statuses;
  const truth = () => {
    const adverts = control
      .truth(account)
      .filter(({ id, history }) => all || history.length > 1 || id in held());
    return Object.fromEntries(adverts.map(({ id, status }) => [id, status]));
  };
  await subscriber.readUntil(() => isDeepStrictEqual(held(), truth()), onItsWayMs);
  await subscriber.readUntil(() => false, silenceMs);
  assert.deepEqual(held(), truth());
}

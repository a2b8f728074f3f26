import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import type { Sandbox } from '../../../sandbox/server.ts';
import { advertKeyOf, compareToApplied, type Position, positionOf } from '../../../subscriber/position.ts';
import type { AdvertBridge } from '../stack/advert-bridge.ts';
import { onItsWayMs } from '../stack/deployment.ts';
import { checkedEvent } from '../stack/histories.ts';
import type { Received, Subscriber } from '../stack/subscriber.ts';
import { silenceMs } from '../steps/delivery.ts';

export interface Held {
  /** By advert ID. */
  readonly statuses: Readonly<Record<string, string | null>>;
  readonly generations: ReadonlySet<number>;
}

/**
 * @param before events that the subscriber received elsewhere, earlier
 * @throws {AssertionError} unless the subscriber ends up with the real status of each advert of the partner account
 */
export async function expectHeld(
  control: Sandbox['control'],
  account: string,
  subscriber: Subscriber,
  before: readonly Received[] = [],
): Promise<void> {
  const truth = Object.fromEntries(control.truth(account).map(({ id, status }) => [id, status]));
  const held = () => heldOf([...before, ...subscriber.received], account).statuses;
  await subscriber.readUntil(() => isDeepStrictEqual(held(), truth), onItsWayMs);
  await subscriber.readUntil(() => false, silenceMs);
  assert.deepEqual(held(), truth);
}

/**
 * The statuses of a partner account's adverts at a subscriber that applies an event only if it is newer than the last
 * applied one.
 *
 * @param received in the order of arrival
 * @throws {AssertionError} for two different contents with one event ID, and for a missing sequence number in a
 * generation
 */
export function heldOf(received: readonly Received[], partnerAccount: string): Held {
  const generations = new Set<number>();
  const contents = new Map<string, string>();
  const applied = new Map<string, Position>();
  const statuses: Record<string, string | null> = {};
  for (const event of received.map(checkedEvent)) {
    const { metadata, data } = event.detail;
    if (metadata.partnerAccount !== partnerAccount) continue;
    const content = JSON.stringify(event.detail);
    const before = contents.get(metadata.eventId) ?? content;
    assert.equal(content, before, `${metadata.eventId} came twice, with different content`);
    contents.set(metadata.eventId, content);
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

/** Waits until no message is in the queue or parked, including messages that are retried after a fault. */
export async function settled({ status }: AdvertBridge, withinMs = 4 * onItsWayMs): Promise<void> {
  for (const until = Date.now() + withinMs; ; await sleep(500)) {
    const { queue } = await status();
    if (queue.waiting === 0) return;
    if (Date.now() > until) throw new Error(`${queue.waiting} messages still wait`);
  }
}

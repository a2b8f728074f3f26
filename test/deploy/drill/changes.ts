import assert from 'node:assert/strict';
import type { AdvertEvent } from '../../../shared/contract/events.ts';
import { onItsWayMs } from '../stack/deployment.ts';
import { invoke } from '../stack/functions.ts';
import { checkedEvent } from '../stack/histories.ts';
import type { Received } from '../stack/subscriber.ts';
import type { Scene } from './scene.ts';

/** @param intervalMs minimum time between two changes, however often the function is called */
export function changesInTurn(intervalMs: number): (scene: Scene) => Promise<void> {
  let latestMs = 0;
  let count = 0;
  /** Changes the next advert of the partner account, and invokes the drain. */
  return async ({ deployment: { sandbox, cloud, outputs }, adverts }) => {
    if (Date.now() - latestMs < intervalMs) return;
    latestMs = Date.now();
    const id = adverts[count % adverts.length] ?? '';
    count += 1;
    const isActive = sandbox.control.advert(id)?.status === 'active';
    sandbox.control.setStatus(id, isActive ? 'limited' : 'active');
    await invoke(cloud, outputs.drainFunctionName).catch(() => undefined);
  };
}

/**
 * Checks the result of the repair.
 *
 * @throws {AssertionError} unless, for each changed advert, the latest event soon has the service's status
 */
export async function expectPublished({
  deployment: { sandbox, subscriber },
  adverts,
}: Scene): Promise<void> {
  const behind = (received: readonly Received[]) =>
    adverts.filter((id) => {
      const { status, history = [] } = sandbox.control.advert(id) ?? {};
      const latest = latestOf(received, id);
      return history.length > 1 && (latest === undefined || statusIn(latest) !== status);
    });
  await subscriber.readUntil((received) => behind(received).length === 0, onItsWayMs);
  assert.deepEqual(
    behind(subscriber.received),
    [],
    'adverts whose latest event is not what the service says',
  );
}

/** The event of an advert with the highest sequence number. */
function latestOf(received: readonly Received[], advertId: string): AdvertEvent | undefined {
  const events = received.map(checkedEvent).filter(({ detail }) => detail.data.advertId === advertId);
  return events.toSorted((a, b) => a.detail.metadata.sequence - b.detail.metadata.sequence).at(-1);
}

/** Null if the event says that the advert is unavailable. */
const statusIn = (event: AdvertEvent): string | null =>
  event['detail-type'] === 'AdvertStatusChanged' ? event.detail.data.status : null;

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Deployment, onItsWayMs } from '../stack/deployment.ts';
import { checkedEvent } from '../stack/histories.ts';
import type { MinimalSubscriber } from '../stack/minimal-subscriber.ts';
import { deliver } from './delivery.ts';

/** The complete subscriber that one construct creates, with its table of positions, applies the published events. */
export async function minimalSubscriberSteps(
  deployment: Deployment,
  minimal: MinimalSubscriber,
): Promise<void> {
  const { steps, sandbox, subscriber, say } = deployment;

  await steps.check('examples/minimal: its table of positions is as far as the newest events', async () => {
    const [first = '', second = ''] = sandbox.control.truth().map(({ id }) => id);
    sandbox.control.setStatus(first, 'limited');
    sandbox.control.setStatus(second, 'limited');
    await deliver(deployment, 2);
    const newest = new Map(
      subscriber.received
        .map((event) => checkedEvent(event).detail)
        .filter(({ data }) => [first, second].includes(data.advertId))
        .sort(
          (a, b) =>
            a.metadata.generation - b.metadata.generation || a.metadata.sequence - b.metadata.sequence,
        )
        .map(({ metadata, data }) => [
          `main/${data.advertId}`,
          `${metadata.generation}/${metadata.sequence}`,
        ]),
    );
    const isThere = async () => {
      const applied = await minimal.positions();
      return [...newest].every(([key, position]) => applied[key] === position);
    };
    const until = Date.now() + onItsWayMs;
    while (!(await isThere()) && Date.now() < until) await sleep(100);
    const applied = await minimal.positions();
    assert.deepEqual(
      Object.fromEntries([...newest.keys()].map((key) => [key, applied[key]])),
      Object.fromEntries(newest),
    );
    assert.equal(await minimal.deadLetters(), 0, 'dead letters of the minimal subscriber');
    say(JSON.stringify(Object.fromEntries(newest)));
  });
}

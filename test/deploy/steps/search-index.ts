import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { type Deployment, onItsWayMs } from '../stack/deployment.ts';
import { checkedEvent, historiesOf } from '../stack/histories.ts';
import type { SearchIndex } from '../stack/search-index.ts';
import { deliver } from './delivery.ts';

/**
 * Another team's table, filled by the construct and the team's own Lambda function, has the partner service's
 * statuses.
 */
export async function searchIndexSteps(deployment: Deployment, searchIndex: SearchIndex): Promise<void> {
  const { steps, sandbox, subscriber, say } = deployment;
  const { control } = sandbox;

  /** Waits until the table has the current status of each advert that ever had an event. */
  async function expectRight(): Promise<void> {
    const seen = historiesOf(subscriber.received);
    const truth = control.truth().filter(({ id }) => seen.has(id));
    const expected = Object.fromEntries(truth.map(({ id, status }) => [`main/${id}`, status]));
    const until = Date.now() + onItsWayMs;
    while (!isDeepStrictEqual(await searchIndex.statuses(), expected) && Date.now() < until) await sleep(100);
    assert.deepEqual(await searchIndex.statuses(), expected);
    assert.equal(await searchIndex.deadLetters(), 0, 'dead letters of the other team');
  }

  await steps.check("examples/search-index: the other team's table has the partner's statuses", async () => {
    const [first = '', second = '', third = ''] = control.truth().map(({ id }) => id);
    control.setStatus(first, 'sold');
    control.setStatus(second, 'outdated');
    control.remove(third);
    await deliver(deployment, 3);
    await expectRight();
    say(JSON.stringify(await searchIndex.statuses()));
  });

  await steps.check('… also after every event has come again, the newest first', async () => {
    await searchIndex.sendAgain([...subscriber.received].reverse());
    assert.ok(await searchIndex.idle(onItsWayMs), 'the events were handled');
    await expectRight();
  });

  await steps.check('… and what is no event goes to its dead letters, with the reason', async () => {
    await searchIndex.sendBody('no event');
    assert.deepEqual(await searchIndex.takeDeadLetter(), { body: 'no event', errorCode: 'not-an-event' });
    await expectRight();
  });

  await steps.check(
    '… and after a replay of the archive, into the full table and into an empty one',
    async () => {
      const events = new Set(subscriber.received.map((event) => checkedEvent(event).detail.metadata.eventId));
      for (const name of ['full', 'empty']) {
        if (name === 'empty') await searchIndex.empty();
        const before = subscriber.received.length;
        assert.equal(await searchIndex.replay(name), 'COMPLETED');
        // The emulator replays for every rule; on AWS, FilterArns limits it to one.
        assert.ok(await subscriber.readUntil(({ length }) => length >= before + events.size, onItsWayMs));
        assert.ok(await searchIndex.idle(onItsWayMs), 'the events were handled');
        await expectRight();
      }
    },
  );
}

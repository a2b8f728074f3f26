import assert from 'node:assert/strict';
import { type Deployment, deliver, onItsWayMs } from '../stack/deployment.ts';
import { expectHeld } from '../stack/histories.ts';
import { shellOf } from '../stack/shell.ts';
import { type Received, subscribe } from '../stack/subscriber.ts';

const idOf = ({ detail }: Received): string => (detail as { metadata: { eventId: string } }).metadata.eventId;

/** A new subscriber gets the snapshot and then live events, and a subscriber that lost events gets them again. */
export async function catchingUpSteps(deployment: Deployment): Promise<void> {
  const { steps, advertBridge, sandbox, cloud, outputs, subscriber } = deployment;
  const { control } = sandbox;
  const begun = Date.now();
  const adverts = control.truth().map(({ id }) => id);
  const [first = '', second = ''] = adverts;

  await steps.check('backfill gives every advert that was never seen its first event', async () => {
    assert.equal((await advertBridge.json('backfill', 'main')).listed, adverts.length);
    await expectHeld(control, 'main', subscriber);
  });

  const later = await subscribe(cloud, outputs.eventBusName, { team: 'a-later-teams' });
  await steps.check('a new subscriber comes from nothing to live: rule, then snapshot', async () => {
    control.setStatus(first, 'limited');
    await deliver(deployment, 1);
    assert.equal((await advertBridge.json('snapshot', '--to', later.queueUrl)).sent, adverts.length);
    control.setStatus(second, 'unpaid');
    await deliver(deployment, 1);
    await expectHeld(control, 'main', later);
    const known = new Map(subscriber.received.map((event) => [idOf(event), event.detail]));
    for (const event of later.received) assert.deepEqual(event.detail, known.get(idOf(event)));
  });

  // MiniStack 1.5.33 ignores FilterArns, so other subscribers get the replay here.
  await steps.check("the documented command replays the archive to a rule's queue", async () => {
    const before = later.received.length;
    const others = subscriber.received.length;
    const published = new Set(subscriber.received.map(idOf));
    const shell = await shellOf(deployment, 'docs/subscribe/catching-up.md');
    await shell.follow('replay', {
      REPLAY_NAME: 'a-later-teams-replay',
      ARCHIVE_ARN: outputs.eventBusArn.replace(/:event-bus\/.*$/, ':archive/adverts-archive'),
      FROM: new Date(begun - 600_000).toISOString(),
      TO: new Date().toISOString(),
      BUS_ARN: outputs.eventBusArn,
      RULE_ARN: later.ruleArn,
    });
    await later.readUntil(({ length }) => length >= before + published.size, onItsWayMs);
    assert.deepEqual(new Set(later.received.slice(before).map(idOf)), published);
    await subscriber.readUntil(({ length }) => length >= others + published.size, onItsWayMs);
  });
}

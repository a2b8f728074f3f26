import assert from 'node:assert/strict';
import { createStore } from '../../../shared/aws/store.ts';
import { createDeadLetters } from '../../../shared/state/dead-letters.ts';
import { type Deployment, deliver } from '../stack/deployment.ts';
import { historiesOf } from '../stack/histories.ts';

/** Changes in the partner service become events at the subscriber. */
export async function deliverySteps(deployment: Deployment): Promise<void> {
  const { steps, sandbox, subscriber, cloud, outputs, say } = deployment;
  const { control } = sandbox;
  const adverts = control
    .truth()
    .slice(0, 4)
    .map(({ id }) => id);
  const [first = '', second = '', third = '', fourth = ''] = adverts;
  const expectHistories = (expected: Record<string, (string | null)[]>) =>
    assert.deepEqual(Object.fromEntries(historiesOf(subscriber.received)), expected);

  await steps.check('changed adverts become events at the subscriber', async () => {
    for (const id of adverts) control.setStatus(id, 'active');
    await deliver(deployment, 4);
    expectHistories({ [first]: ['active'], [second]: ['active'], [third]: ['active'], [fourth]: ['active'] });
    say("the event that the other team's queue received:");
    say(JSON.stringify(subscriber.received[0], undefined, 2));
  });

  await steps.check('the next change of an advert has the next number and the status before', async () => {
    control.setStatus(first, 'limited');
    control.setStatus(second, 'outdated');
    control.remove(third);
    // Listed in the feed, but unchanged, so there is no event.
    control.setStatus(fourth, 'active');
    await deliver(deployment, 3);
    expectHistories({
      [first]: ['active', 'limited'],
      [second]: ['active', 'outdated'],
      [third]: ['active', null],
      [fourth]: ['active'],
    });
    assert.equal(
      subscriber.received.filter((event) => event['detail-type'] === 'AdvertUnavailable').length,
      1,
    );
  });

  await steps.check('another drain delivers nothing, and after one more change only that', async () => {
    await deliver(deployment, 0);
    control.restore(third, 'active');
    await deliver(deployment, 1);
    assert.deepEqual(historiesOf(subscriber.received).get(third), ['active', null, 'active']);
  });

  await steps.check(
    'an ID that is none is dead-lettered with its reason, the rest of the page goes on',
    async () => {
      control.listRaw('../oauth/token');
      control.setStatus(second, 'active');
      await deliver(deployment, 1);
      const store = createStore({ feedState: { client: cloud.dynamo, name: outputs.feedStateTableName } });
      const [stored, ...others] = await createDeadLetters(store).list();
      assert.deepEqual(others, []);
      assert.ok(stored);
      assert.equal(stored.advertId, '../oauth/token');
      assert.equal(stored.fault, 'malformed-id');
      assert.match(stored.reason, /expected 1 to 20 digits/);
      assert.equal(stored.partnerAccount, 'main');
    },
  );
}

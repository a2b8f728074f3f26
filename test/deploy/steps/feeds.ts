import assert from 'node:assert/strict';
import { checked } from '../../../shared/contract/checks.ts';
import { detailTypesOf } from '../../../shared/contract/feeds.ts';
import { orderEnvelopes } from '../../../shared/contract/order-events.ts';
import { type Deployment, onItsWayMs } from '../stack/deployment.ts';
import { drain } from '../stack/functions.ts';
import { historiesOf } from '../stack/histories.ts';
import { subscribe } from '../stack/subscriber.ts';
import { deliver } from './delivery.ts';

/** Enables a second feed for an account that was connected long before, and disables it again. */
export async function feedSteps(deployment: Deployment): Promise<void> {
  const { steps, cloud, cdk, settings, outputs, sandbox, subscriber, advertBridge } = deployment;
  const { control } = sandbox;
  const id = control.truth()[0]?.id ?? '';
  const asBefore = { ...settings, overlapSeconds: '12' };

  await steps.check(
    'a deploy with feeds=adverts,orders begins orders, beside the advert of the same ID',
    async () => {
      await cdk.deploy({ ...asBefore, feeds: 'adverts,orders' });
      const types = detailTypesOf(['orders']);
      const orders = await subscribe(cloud, outputs.eventBusName, { team: 'orders', types });
      control.setOrder(id, 'new');
      await drain(cloud, outputs.drainFunctionName);
      assert.ok(
        await orders.readUntil(({ length }) => length >= 1, onItsWayMs),
        'the event of the order came',
      );
      control.setOrder(id, 'paid');
      const length = historiesOf(subscriber.received).get(id)?.length ?? 0;
      control.setStatus(id, control.advert(id)?.status === 'active' ? 'limited' : 'active');
      await deliver(deployment, 1);
      assert.ok(
        await orders.readUntil((all) => all.length >= 2, onItsWayMs),
        'the second event of the order came',
      );

      assert.equal(historiesOf(subscriber.received).get(id)?.length, length + 1);
      const events = orders.received.map((one) =>
        checked(orderEnvelopes.OrderStatusChanged, one, 'event of an order'),
      );
      assert.deepEqual(
        events.map(({ resources, detail: { metadata, data } }) => [resources, metadata.sequence, data]),
        ['new', 'paid'].map((status, index) => [
          [`advert-bridge/main/order/${id}`],
          index + 1,
          { orderId: id, status, previousStatus: index === 0 ? null : 'new' },
        ]),
      );
      const [account] = (await advertBridge.status()).partnerAccounts;
      assert.equal(account?.feeds?.[0]?.books.events, 2);
    },
  );

  await steps.check('a deploy without it goes on with adverts alone', async () => {
    await cdk.deploy(asBefore);
    const asked = () => control.journal.list().filter(({ endpoint }) => endpoint === 'order-feed').length;
    const before = asked();
    control.setOrder(id, 'sent');
    control.setStatus(id, 'moderated');
    await deliver(deployment, 1);
    assert.equal(asked(), before, 'requests for the orders feed');
  });
}

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { detailTypes } from '../../../shared/contract/names.ts';
import { type Deployment, onItsWayMs } from '../stack/deployment.ts';
import { invoke } from '../stack/functions.ts';
import { historiesOf } from '../stack/histories.ts';
import { subscribe } from '../stack/subscriber.ts';
import { deliver } from './delivery.ts';

/** How long a warm function uses a stop that it has read. */
const believedMs = 5_000;

const types = [detailTypes.authorizationRequired, detailTypes.authorizationRestored];

/** Revokes and renews the bridge's authorization, and changes its own secret. */
export async function grantSteps(deployment: Deployment): Promise<void> {
  const { steps, advertBridge, sandbox, subscriber, cloud, outputs, say } = deployment;
  const { control, application } = sandbox;
  const [first = '', second = ''] = control
    .truth()
    .slice(6, 8)
    .map(({ id }) => id);
  const operators = await subscribe(cloud, outputs.eventBusName, { team: 'operators', types });
  const told = () => operators.received.map((event) => event['detail-type']);
  const poll = () => invoke(cloud, outputs.drainFunctionName);
  const state = async () => (await advertBridge.status()).partnerAccounts[0]?.state;

  await steps.check(
    'a grant taken back stops the partner account, and the bus tells of it once',
    async () => {
      control.setStatus(first, 'active');
      await deliver(deployment, 1);
      control.revoke('main');
      control.setStatus(first, 'limited');
      control.setStatus(second, 'limited');
      await poll();
      await operators.readUntil(({ length }) => length > 0, onItsWayMs);
      await poll();
      await invoke(cloud, outputs.refreshTokenFunctionName);
      await operators.readUntil(({ length }) => length > 1, 1_500);
      assert.deepEqual(told(), [detailTypes.authorizationRequired]);
      say(JSON.stringify(operators.received[0]));
      assert.equal(await state(), 'stopped');
    },
  );

  await steps.check(
    'connected again, it goes on from the kept cursor, and the bus tells of that once',
    async () => {
      const from = control.journal.nextIndex;
      await advertBridge.run(['connect', 'main', '--refresh-token-stdin'], control.issueRefreshToken('main'));
      await sleep(believedMs + 500);
      await deliver(deployment, 2);
      await operators.readUntil(({ length }) => length > 1, onItsWayMs);
      await operators.readUntil(({ length }) => length > 2, 1_500);
      assert.deepEqual(told(), types);
      const histories = historiesOf(subscriber.received);
      assert.deepEqual(histories.get(first), ['active', 'limited']);
      assert.deepEqual(histories.get(second), ['limited']);
      const polls = control.journal.list(from).filter(({ endpoint }) => endpoint === 'feed');
      assert.ok(
        polls.some(({ query }) => query.includes('cursor=')),
        'the feed was asked with its cursor',
      );
      assert.equal(await state(), 'polling');
    },
  );

  await steps.check(
    'a changed client secret stops nobody, and is taken up as soon as it is stored',
    async () => {
      const secret = 'the-application-has-another-secret-now';
      control.replaceClientSecret(secret);
      control.expireAccessTokens();
      control.setStatus(first, 'sold');
      await poll();
      assert.equal(await state(), 'polling');
      const args = ['application', '--client-id', application.clientId, '--client-secret-stdin'];
      await advertBridge.run(args, `${secret}\n`);
      await deliver(deployment, 1);
      assert.deepEqual(historiesOf(subscriber.received).get(first), ['active', 'limited', 'sold']);
    },
  );
}

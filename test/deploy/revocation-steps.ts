import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { detailTypes } from '../../shared/contract/names.ts';
import { deliver } from './delivery-steps.ts';
import { type Deployment, onItsWayMs } from './deployment.ts';
import { invoke } from './functions.ts';
import { subscribe } from './subscriber.ts';

/** Time enough for an event that should not exist to show itself. */
const silenceMs = 1500;

/** So long a warm function believes that a partner account is stopped (shared/partner-api/refusals.ts). */
const believedMs = 5_000;

/** What was granted is withdrawn and granted again, and the application's own secret is replaced. */
export async function revocationSteps(deployment: Deployment): Promise<void> {
  const { steps, advertBridge, sandbox, cloud, outputs, say } = deployment;
  const { control } = sandbox;
  const [advert = '', another = ''] = control.truth().map(({ id }) => id);
  const authorizations = await subscribe(cloud, outputs.eventBusName, {
    name: 'operators',
    wanted: [detailTypes.authorizationRequired, detailTypes.authorizationRestored],
  });
  const types = () => authorizations.received.map((event) => event['detail-type']);
  const account = async () => (await advertBridge.status()).partnerAccounts[0];
  const feedRequests = () => control.journal.list().filter(({ endpoint }) => endpoint === 'feed');

  await steps.check('a revoked partner account is stopped, and the bus says so once', async () => {
    control.revoke();
    // By the schedule's drain or this one, whichever comes first.
    await invoke(cloud, outputs.drainFunctionName);
    await authorizations.readUntil(({ length }) => length >= 1, onItsWayMs);
    assert.deepEqual(types(), [detailTypes.authorizationRequired]);
    say(JSON.stringify(authorizations.received[0]?.detail));
    assert.equal((await account())?.state, 'stopped');

    control.setStatus(advert, 'changed-while-stopped');
    const asked = feedRequests().length;
    await invoke(cloud, outputs.drainFunctionName);
    await invoke(cloud, outputs.refreshTokenFunctionName);
    await authorizations.readUntil(({ length }) => length > 1, silenceMs);
    assert.equal(types().length, 1, 'told once');
    assert.equal(feedRequests().length, asked, 'the feed was not asked');
  });

  await steps.check(
    'connected again, it goes on from the kept cursor, and the bus says so once',
    async () => {
      const asked = feedRequests().length;
      await advertBridge.run(
        ['connect', 'main', '--refresh-token-stdin'],
        control.issueRefreshToken(),
        [0, 3],
      );
      await sleep(believedMs);
      await deliver(deployment, 1);
      await authorizations.readUntil(({ length }) => length >= 2, onItsWayMs);
      await authorizations.readUntil(({ length }) => length > 2, silenceMs);
      assert.deepEqual(types(), [detailTypes.authorizationRequired, detailTypes.authorizationRestored]);
      assert.equal((await account())?.state, 'polling');
      assert.equal((await account())?.cursorResets, 0);
      const since = feedRequests().slice(asked);
      assert.ok(
        since.length > 0 && since.every(({ query }) => query.includes('cursor=')),
        'asked with the cursor',
      );
    },
  );

  await steps.check("the application's secret is replaced without a deploy or a restart", async () => {
    control.replaceClientSecret('the new client secret');
    const args = ['application', '--client-id', sandbox.application.clientId, '--client-secret-stdin'];
    await advertBridge.run(args, 'the new client secret\n');
    control.expireAccessTokens();
    control.setStatus(another, 'changed-after-rotation');
    await deliver(deployment, 1);
    assert.equal((await account())?.state, 'polling');
  });
}

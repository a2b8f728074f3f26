import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { detailTypes } from '../../../shared/contract/names.ts';
import { type Deployment, deliver, onItsWayMs, silenceMs } from '../stack/deployment.ts';
import { invoke } from '../stack/functions.ts';
import { historiesOf } from '../stack/histories.ts';
import { subscribe } from '../stack/subscriber.ts';

/** How long a warm function uses a stop that it has read. */
const believedMs = 5_000;
const types = [detailTypes.authorizationRequired, detailTypes.authorizationRestored];

/** The user takes the grant back, and gives it again in the browser, which `fetch` acts as. */
export async function authorizationSteps(deployment: Deployment): Promise<void> {
  const { steps, advertBridge, sandbox, subscriber, cloud, outputs } = deployment;
  const { control } = sandbox;
  const adverts = control.truth().slice(6, 8);
  const [first = '', second = ''] = adverts.map(({ id }) => id);
  const operators = await subscribe(cloud, outputs.eventBusName, { team: 'operators', types });
  const published = async (count: number) => {
    await operators.readUntil(({ length }) => length >= count, onItsWayMs);
    await operators.readUntil(({ length }) => length > count, silenceMs);
    return operators.received.map((event) => event['detail-type']);
  };
  const poll = () => invoke(cloud, outputs.drainFunctionName);
  const state = async () => (await advertBridge.status()).partnerAccounts[0]?.state;

  await steps.check('a grant taken back stops the partner account, with one event', async () => {
    control.setStatus(first, 'active');
    await deliver(deployment, 1);
    control.revoke('main');
    for (const id of [first, second]) control.setStatus(id, 'limited');
    await poll();
    await poll();
    await invoke(cloud, outputs.refreshTokenFunctionName);
    assert.deepEqual(await published(1), [detailTypes.authorizationRequired]);
    assert.equal(await state(), 'stopped');
  });

  await steps.check('authorized again, events go on from the kept cursor', async () => {
    control.setConsent({ mode: 'allow' });
    const from = control.journal.nextIndex;
    const { printed, ended } = await advertBridge.connect('main');
    await fetch(printed);
    assert.equal((await ended).code, 0);
    await sleep(believedMs + 500);
    await deliver(deployment, 2);
    assert.deepEqual(await published(2), types);
    const histories = historiesOf(subscriber.received);
    assert.deepEqual([histories.get(first), histories.get(second)], [['active', 'limited'], ['limited']]);
    const polls = control.journal.list(from).filter(({ endpoint }) => endpoint === 'feed');
    assert.ok(polls.some(({ query }) => query.includes('cursor=')));
    assert.equal(await state(), 'polling');
  });
}

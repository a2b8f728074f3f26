import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { detailTypes } from '../../../shared/contract/names.ts';
import { awsAccount, connectTo } from '../emulator/cloud.ts';
import { advertBridgeOn } from '../stack/advert-bridge.ts';
import { cdkOn } from '../stack/cdk.ts';
import type { Deployment } from '../stack/deployment.ts';
import { drain } from '../stack/functions.ts';
import { subscribe } from '../stack/subscriber.ts';
import { deliver } from '../steps/delivery.ts';
import { expectHeld, settled } from './held.ts';
import { followBackup, shortlyBefore } from './restore.ts';
import type { Around } from './scene.ts';

const account = 'moved';
const region = 'eu-west-1';

/** Moves a bridge to another region, as docs/operate/backup.md describes, together with a subscriber. */
export async function regionSteps(deployment: Deployment, around: Around): Promise<void> {
  const { steps, cdk, settings, sandbox, subscriber, advertBridge, emulator } = deployment;
  const { control, application } = sandbox;
  const { processes } = around;
  const refreshToken = `sandbox-refresh-token-${account}`;
  control.addUser(account, { adverts: 6, refreshToken });
  control.setConsent({ mode: 'allow', user: account });
  const [first = '', second = ''] = control.truth(account).map(({ id }) => id);

  await steps.check('a bridge moves to another region, and its subscriber holds what is so', async () => {
    await advertBridge.run(['connect', account, '--refresh-token-stdin'], refreshToken);
    for (const id of [first, second]) control.setStatus(id, 'active');
    await deliver(deployment, 2);
    await (await followBackup(deployment, around, cdk.asTyped(settings)))('move-away', { NAME: account });
    control.setStatus(first, 'limited');

    const folder = join(around.folder, region);
    const env = { ...around.env, AWS_REGION: region };
    await mkdir(folder);
    const there = {
      cdk: cdkOn(env, folder, processes),
      cloud: connectTo(emulator.endpoint, awsAccount, region),
      advertBridge: advertBridgeOn(env, processes),
    };
    try {
      await there.cdk.bootstrap();
      const outputs = await there.cdk.deploy(settings);
      assert.match(outputs.eventBusArn, new RegExp(`:${region}:`));
      const stored = ['application', '--client-id', application.clientId, '--client-secret-stdin', '--check'];
      await there.advertBridge.run(stored, application.clientSecret);
      const types = [detailTypes.statusChanged, detailTypes.unavailable];
      const moved = await subscribe(there.cloud, outputs.eventBusName, { team: account, types });
      const npx = there.cdk.asTyped(settings);
      const follow = await followBackup(deployment, { env, processes, folder }, npx);
      await follow('move-here', { NAME: account, TIME: shortlyBefore() });
      await drain(there.cloud, outputs.drainFunctionName);
      await settled(there.advertBridge);
      await expectHeld(control, account, moved, subscriber.received);
    } finally {
      there.cloud.close();
    }
  });
}

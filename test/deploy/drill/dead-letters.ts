import assert from 'node:assert/strict';
import { drain } from '../stack/functions.ts';
import { deliver } from '../steps/delivery.ts';
import { type Exercise, runDrain, type Scene } from './scene.ts';

/** The ID of the dead letter whose line in `dead-letters list` contains `text`. */
async function letterOf(scene: Scene, text: string): Promise<string> {
  const list = await scene.follow('dead-letters-list');
  const line = list.split('\n').find((each) => each.includes(text));
  const id = /\S+\/[0-9a-f]{16}/.exec(line ?? '')?.[0];
  assert.ok(id, `no dead letter with ${text} in:\n${list}`);
  return id;
}

/** The bridge has dead-lettered something. */
export const deadLetters: Exercise = {
  alarm: 'DeadLetters',
  provokedBy: 'the service refuses the request for one advert (422), and lists what is no advert ID',
  mendedBy: 'dead-letters list, show, redrive, drop',

  async provoke({ deployment: { sandbox, cloud, outputs }, account, adverts: [odd = ''] }) {
    const { control } = sandbox;
    control.faults.add({ kind: 'status', status: 422, body: {}, endpoint: 'advert', advertId: odd });
    control.setStatus(odd, 'limited');
    control.listRaw('../oauth/token', account);
    await drain(cloud, outputs.drainFunctionName);
  },
  // The drain publishes the number of dead letters.
  meanwhile: runDrain,

  async mend(scene) {
    const { deployment, adverts } = scene;
    const [odd = ''] = adverts;
    const refused = await letterOf(scene, odd);
    assert.match(await scene.follow('dead-letters-show', { ID: refused }), /invalid-request/);
    deployment.sandbox.control.faults.clear();
    await scene.follow('dead-letters-redrive', { ID: refused });
    await deliver(deployment, 1);
    const malformed = await letterOf(scene, '../oauth/token');
    await scene.follow('dead-letters-drop', { ID: malformed });
  },
};

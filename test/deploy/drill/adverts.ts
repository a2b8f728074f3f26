import assert from 'node:assert/strict';
import { until } from '../../helpers/until.ts';
import { deliver } from '../stack/deployment.ts';
import { drain } from '../stack/functions.ts';
import { type Exercise, expectPublished, runDrain, type Scene } from './scene.ts';

/** The ID of the dead letter whose line in `dead-letters list` contains `text`. */
async function deadLetterOf(scene: Scene, text: string): Promise<string> {
  const list = await scene.follow('dead-letters-list');
  const line = list.split('\n').find((each) => each.includes(text));
  const id = /\S+\/[0-9a-f]{16}/.exec(line ?? '')?.[0];
  assert.ok(id, `no dead letter with ${text} in:\n${list}`);
  return id;
}

export const deadLetters: Exercise = {
  alarm: 'DeadLetters',
  provokedBy: 'the service refuses the request for one advert (422), and lists what is no advert ID',
  // The drain publishes the number of dead letters.
  meanwhile: runDrain,

  async provoke({ deployment, account, adverts: [odd = '', other = ''] }) {
    const { control } = deployment.sandbox;
    const { cloud, outputs } = deployment;
    // Nothing is given up before another advert of the account was answered well.
    control.setStatus(other, 'active');
    await deliver(deployment, 1);
    control.faults.add({ kind: 'status', status: 422, body: {}, endpoint: 'advert', advertId: odd });
    control.setStatus(odd, 'limited');
    control.listRaw('../oauth/token', account);
    await drain(cloud, outputs.drainFunctionName);
  },

  async mend(scene) {
    const { deployment, adverts } = scene;
    // Refused twice, and between the tries it waits aside.
    const isGivenUp = async () => {
      await runDrain(scene);
      return (await scene.follow('dead-letters-list')).includes(adverts[0] ?? '');
    };
    await until('the advert is given up', isGivenUp, { withinMs: 300_000, everyMs: 5_000 });
    const refused = await deadLetterOf(scene, adverts[0] ?? '');
    assert.match(await scene.follow('dead-letters-show', { ID: refused }), /invalid-request/);
    deployment.sandbox.control.faults.clear();
    await scene.follow('dead-letters-redrive', { ID: refused });
    await deliver(deployment, 1);
    await scene.follow('dead-letters-drop', { ID: await deadLetterOf(scene, '../oauth/token') });
  },
};

/** The advert for which a wrong status is published. */
const advertOf = ({ adverts }: Scene): string => adverts[7] ?? '';

export const staleAnswer: Exercise = {
  alarm: 'AuditDifferences',
  provokedBy: 'the service answers with what a changed advert was before, and never lists it again',

  async provoke(scene) {
    const { deployment, account } = scene;
    const { control } = deployment.sandbox;
    const id = advertOf(scene);
    await expectPublished(scene);
    control.setStatus(id, 'active');
    await deliver(deployment, 1);
    const stale = control.faults.add({
      ...{ kind: 'status', status: 200, endpoint: 'advert', user: account, advertId: id, count: 1 },
      headers: { 'content-type': 'application/json' },
      body: `{"data":{"id":${id},"status":"active"}}`,
    });
    control.setStatus(id, 'limited');
    await deliver(deployment, 0);
    const fault = control.faults.list().find((each) => each.id === stale);
    assert.equal(fault?.struck, 1, 'the advert was asked for, and the answer was the old one');
    assert.match(
      await scene.follow('audit', { NAME: account, ADVERT: id }),
      new RegExp(`^${id} +active +limited$`, 'm'),
    );
  },

  async mend(scene) {
    const id = advertOf(scene);
    const log = await scene.follow('log', { FUNCTION: scene.deployment.outputs.fanOutFunctionName });
    assert.match(log, new RegExp(`an audit found that.*"${id}"|"${id}".*an audit found that`));
    await expectPublished(scene);
    assert.match(await scene.follow('history', { NAME: scene.account, ADVERT: id }), /audit/);
  },
};

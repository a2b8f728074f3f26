import assert from 'node:assert/strict';
import { deliver } from '../steps/delivery.ts';
import { expectPublished } from './changes.ts';
import type { Exercise, Scene } from './scene.ts';

/** The advert for which a wrong status is published. */
const advertOf = ({ adverts }: Scene): string => adverts[7] ?? '';

export const staleAnswer: Exercise = {
  alarm: 'AuditDifferences',
  provokedBy:
    'the service answers the request for a changed advert with what it was before, and never lists it again; an audit of this advert',
  mendedBy: 'nothing: the audit has published the right status; the log and history say what was wrong',

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
      new RegExp(`^${id}: published as "active", now as "limited"$`, 'm'),
    );
  },

  async mend(scene) {
    const { deployment, account } = scene;
    const id = advertOf(scene);
    const log = await scene.follow('log', { FUNCTION: deployment.outputs.fanOutFunctionName });
    const found = log.split('\n').find((line) => line.includes('an audit found that'));
    assert.ok(found?.includes(`"${id}"`), `the advert ${id} in:\n${log}`);
    await expectPublished(scene);
    assert.match(await scene.follow('history', { NAME: account, ADVERT: id }), /audit/);
  },
};

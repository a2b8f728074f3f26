import assert from 'node:assert/strict';
import { deliver } from '../stack/deployment.ts';
import { type Exercise, runDrain, type Scene } from './scene.ts';

/** Checks after the repair that a change becomes an event again. */
async function eventComes({ deployment, adverts }: Scene, status: string): Promise<void> {
  deployment.sandbox.control.setStatus(adverts[4] ?? '', status);
  await deliver(deployment, 1);
}

export const withdrawnAuthorization: Exercise = {
  alarm: 'PartnerAccountStopped',
  provokedBy: 'the user withdraws what was granted',
  meanwhile: runDrain,

  async provoke({ deployment: { sandbox }, account }) {
    sandbox.control.revoke(account);
  },

  async mend(scene) {
    assert.match(await scene.follow('status'), /no longer accepts the refresh token/);
    // The sandbox accepts any port, and the usual one may be in use on this machine.
    await scene.follow('connect', { NAME: `${scene.account} --port 0` });
    await eventComes(scene, 'limited');
  },
};

const newSecret = 'the-new-secret-of-the-application';

export const wrongClientSecret: Exercise = {
  alarm: 'NeedsAttention',
  provokedBy: "the service replaces the application's client secret",
  meanwhile: runDrain,

  async provoke({ deployment: { sandbox }, account }) {
    sandbox.control.replaceClientSecret(newSecret);
    sandbox.control.expireAccessTokens(account);
  },

  async mend(scene) {
    assert.match(await scene.follow('status'), /refuses the client ID or the client secret/);
    await scene.write('client-secret.txt', `${newSecret}\n`);
    await scene.follow('client-secret', { ID: scene.deployment.sandbox.application.clientId });
    await eventComes(scene, 'active');
  },
};

export const stuckFeed: Exercise = {
  alarm: 'NeedsAttention',
  provokedBy: 'the service rejects every cursor that it gave',
  meanwhile: runDrain,

  async provoke({ deployment: { sandbox }, account }) {
    sandbox.control.faults.add({
      ...{ kind: 'status', status: 400, endpoint: 'feed', user: account, hasCursor: true },
      body: { code: 'validation_error', message: 'invalid cursor' },
    });
  },

  async mend(scene) {
    assert.match(await scene.follow('status'), /makes no progress \(the service has rejected cursors/);
    scene.deployment.sandbox.control.faults.clear();
    const hourAgo = new Date(Date.now() - 3_600_000).toISOString();
    await scene.follow('resync', { NAME: scene.account, TIME: hourAgo });
    await eventComes(scene, 'limited');
  },
};

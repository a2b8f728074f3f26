import assert from 'node:assert/strict';
import { deliver } from '../steps/delivery.ts';
import { type Exercise, runDrain, type Scene } from './scene.ts';

/** Checks after the repair that a change becomes an event again. */
async function eventComes({ deployment, adverts }: Scene, status: string): Promise<void> {
  deployment.sandbox.control.setStatus(adverts[4] ?? '', status);
  await deliver(deployment, 1);
}

export const withdrawnAuthorization: Exercise = {
  alarm: 'PartnerAccountStopped',
  provokedBy: 'the user withdraws what was granted',
  mendedBy: 'connect NAME --open; the user allows it in the browser',

  async provoke({ deployment: { sandbox }, account }) {
    sandbox.control.revoke(account);
  },
  meanwhile: runDrain,

  async mend(scene) {
    const { deployment, account } = scene;
    assert.match(await scene.follow('status'), /no longer accepts its refresh token/);
    deployment.sandbox.control.setConsent({ mode: 'allow', user: account });
    // The sandbox accepts any port, and the usual one may be in use on this machine.
    await scene.follow('connect', { NAME: `${account} --port 0` });
    await eventComes(scene, 'limited');
  },
};

const newSecretOf = ({ account }: Scene): string => `the-new-secret-of-${account}`;

export const wrongClientSecret: Exercise = {
  alarm: 'NeedsAttention',
  provokedBy: "the service replaces the application's client secret",
  mendedBy: 'application --client-id ID --client-secret-stdin --check',

  async provoke(scene) {
    const { control } = scene.deployment.sandbox;
    control.replaceClientSecret(newSecretOf(scene));
    control.expireAccessTokens(scene.account);
  },
  meanwhile: runDrain,

  async mend(scene) {
    const { sandbox } = scene.deployment;
    assert.match(await scene.follow('status'), /refuses the client ID or the client secret/);
    await scene.shell.write('client-secret.txt', `${newSecretOf(scene)}\n`);
    await scene.follow('client-secret', { ID: sandbox.application.clientId });
    await eventComes(scene, 'active');
  },
};

export const stuckFeed: Exercise = {
  alarm: 'NeedsAttention',
  provokedBy: 'the service rejects every cursor that it gave',
  mendedBy: 'resync NAME --since TIME',

  async provoke({ deployment: { sandbox }, account }) {
    sandbox.control.faults.add({
      ...{ kind: 'status', status: 400, endpoint: 'feed', user: account, hasCursor: true },
      body: { code: 'validation_error', message: 'invalid cursor' },
    });
  },
  meanwhile: runDrain,

  async mend(scene) {
    const { sandbox } = scene.deployment;
    assert.match(await scene.follow('status'), /cursor does not move, or is rejected again and again/);
    sandbox.control.faults.clear();
    const hourAgo = new Date(Date.now() - 3_600_000).toISOString();
    await scene.follow('resync', { NAME: scene.account, TIME: hourAgo });
    await eventComes(scene, 'limited');
  },
};

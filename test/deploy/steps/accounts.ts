import assert from 'node:assert/strict';
import { type Deployment, deliver, settled } from '../stack/deployment.ts';
import { drain } from '../stack/functions.ts';

/** Sets up the application and a partner account, using only the command line. */
export async function connectSteps({ steps, advertBridge, sandbox }: Deployment): Promise<void> {
  const { application, users } = sandbox;
  await steps.need('advert-bridge application and connect store the credentials', async () => {
    const args = ['application', '--client-id', application.clientId, '--client-secret-stdin'];
    await advertBridge.run(args, `${application.clientSecret}\n`);
    await advertBridge.run(['connect', 'main', '--refresh-token-stdin'], `${users[0]?.refreshToken}\n`);
    const [account] = (await advertBridge.status()).partnerAccounts;
    assert.deepEqual([account?.name, account?.state], ['main', 'polling']);
    assert.ok(Date.parse(account?.tokenExpiresAt ?? '') > Date.now(), 'the token expires in the future');
  });
}

export async function tokenSteps(deployment: Deployment): Promise<void> {
  const { steps, sandbox } = deployment;
  const { control } = sandbox;
  const advert = control.truth()[0]?.id ?? '';
  const grants = () =>
    control.journal.list().filter(({ grantType, status }) => grantType === 'refresh_token' && status === 200);

  await steps.check('a token that has run out is refreshed on demand, and events go on', async () => {
    const before = grants().length;
    // Only the user's token: doctor has requested tokens for the application.
    assert.equal(control.expireAccessTokens('main'), 1);
    control.setStatus(advert, 'unpaid');
    await deliver(deployment, 1);
    assert.ok(grants().length > before, 'the token endpoint was asked');
  });
}

export async function statusSteps({ steps, advertBridge, say }: Deployment): Promise<void> {
  await steps.check('advert-bridge status shows books that balance', async () => {
    const { partnerAccounts, queue, exitCode } = await advertBridge.status();
    const [account] = partnerAccounts;
    assert.ok(account);
    say(JSON.stringify(account.books));
    const { listed, ...outcomes } = account.books;
    assert.equal(
      Object.values(outcomes).reduce((sum, count) => sum + count, 0),
      listed,
    );
    assert.partialDeepStrictEqual(outcomes, { inFlight: 0, unavailable: 1, deadLettered: 1 });
    assert.equal(account.cursorResets, 0);
    assert.ok((account.lagSeconds ?? Number.NaN) < 120, `lag ${account.lagSeconds}`);
    assert.deepEqual(queue, { waiting: 0, deadLetters: 1 });
    assert.equal(exitCode, 3, 'a dead letter is left for a person');
  });
}

export async function disconnectSteps(deployment: Deployment): Promise<void> {
  const { steps, advertBridge, sandbox, cloud, outputs, subscriber } = deployment;
  const { control } = sandbox;

  await steps.check('disconnect stops polling; connected again, it goes on from where it was', async () => {
    await advertBridge.run(['disconnect', 'main'], '', { expected: [0, 3] });
    control.setStatus(control.truth()[1]?.id ?? '', 'limited');
    const before = subscriber.received.length;
    const requests = control.journal.nextIndex;
    await drain(cloud, outputs.drainFunctionName);
    assert.equal(control.journal.nextIndex, requests, 'the partner service was asked');
    assert.equal(subscriber.received.length, before);
    await advertBridge.run(['connect', 'main', '--refresh-token-stdin'], control.issueRefreshToken('main'));
    await deliver(deployment, 1);
    await settled(advertBridge);
  });
}

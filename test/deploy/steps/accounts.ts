import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { SendMessageCommand } from '@aws-sdk/client-sqs';
import { countMessages } from '../../../shared/aws/sqs.ts';
import type { ChangedAdvert } from '../../../shared/contract/messages.ts';
import { messageGroupOf } from '../../../shared/domain/queue/message-groups.ts';
import type { Status } from '../stack/advert-bridge.ts';
import { type Deployment, onItsWayMs } from '../stack/deployment.ts';
import { drain, invoke } from '../stack/functions.ts';
import { deliver } from './delivery.ts';

/** Sets up the application and a partner account, using only the command line. */
export async function connectSteps({ steps, advertBridge, sandbox }: Deployment): Promise<void> {
  const { application, users } = sandbox;

  await steps.need('advert-bridge application stores the credentials', async () => {
    const args = ['application', '--client-id', application.clientId, '--client-secret-stdin'];
    await advertBridge.run(args, `${application.clientSecret}\n`);
  });

  await steps.need('advert-bridge connect connects a partner account', async () => {
    await advertBridge.run(['connect', 'main', '--refresh-token-stdin'], `${users[0]?.refreshToken}\n`);
    const account = only(await advertBridge.status());
    assert.equal(account.state, 'polling');
    assert.equal(account.name, 'main');
    assert.ok(Date.parse(account.tokenExpiresAt ?? '') > Date.now(), 'the token expires in the future');
  });
}

export async function tokenSteps(deployment: Deployment): Promise<void> {
  const { steps, cloud, outputs, sandbox } = deployment;
  const { control } = sandbox;
  const advert = control.truth()[0]?.id ?? '';
  const grants = () =>
    control.journal.list().filter(({ grantType, status }) => grantType === 'refresh_token' && status === 200);

  await steps.check('a token that has run out is refreshed on demand, and events go on', async () => {
    const before = grants().length;
    // Only the user's token: doctor has requested tokens for the application.
    assert.equal(control.expireAccessTokens(sandbox.users[0]?.name), 1);
    control.setStatus(advert, 'unpaid');
    await deliver(deployment, 1);
    assert.ok(grants().length > before, 'the token endpoint was asked');
  });

  /** Gives the bridge a token that lives for two seconds, lets it expire, and does what the schedule does. */
  async function sweepAfterExpiry(): Promise<unknown> {
    control.change({ accessTokenLifetimeSeconds: 2 });
    control.expireAccessTokens();
    await drain(cloud, outputs.drainFunctionName);
    await sleep(2500);
    control.change({ accessTokenLifetimeSeconds: 86_400 });
    return invoke(cloud, outputs.refreshTokenFunctionName);
  }

  await steps.check('the scheduled function refreshes what has run out since', async () => {
    const nothing = { refreshed: [], failed: [] };
    let report = await sweepAfterExpiry();
    // The scheduled drain may have met the expired token first.
    if (isDeepStrictEqual(report, nothing)) report = await sweepAfterExpiry();
    assert.deepEqual(report, { refreshed: ['main'], failed: [] });
    assert.deepEqual(await invoke(cloud, outputs.refreshTokenFunctionName), nothing);
  });
}

export async function statusSteps({ steps, advertBridge, say }: Deployment): Promise<void> {
  await steps.check('advert-bridge status shows books that balance', async () => {
    const status = await advertBridge.status();
    const { books, lagSeconds, lastSuccess, cursorResets } = only(status);
    say(JSON.stringify(books));
    const { listed, ...outcomes } = books;
    assert.equal(
      listed,
      Object.values(outcomes).reduce((sum, count) => sum + count, 0),
    );
    assert.equal(books.inFlight, 0);
    assert.equal(books.unavailable, 1);
    assert.equal(books.deadLettered, 1);
    assert.equal(cursorResets, 0);
    assert.ok(lagSeconds !== null && lagSeconds < 120, `lag ${lagSeconds}`);
    assert.ok(lastSuccess);
    assert.deepEqual(status.queue, { waiting: 0, deadLetters: 1 });
    assert.equal(status.exitCode, 3, 'a dead letter is left for a person');
  });
}

export async function disconnectSteps(deployment: Deployment): Promise<void> {
  const { steps, advertBridge, sandbox, cloud, outputs, subscriber } = deployment;
  const { control } = sandbox;
  const advert = control.truth()[1]?.id ?? '';

  await steps.check('advert-bridge disconnect stops polling', async () => {
    await advertBridge.run(['disconnect', 'main'], undefined, [0, 3]);
    const status = await advertBridge.status();
    assert.notEqual(status.partnerAccounts[0]?.state, 'polling');
    control.setStatus(advert, 'limited');
    const before = subscriber.received.length;
    const requests = control.journal.nextIndex;
    await drain(cloud, outputs.drainFunctionName);
    assert.equal(control.journal.nextIndex, requests, 'the partner service was asked');
    assert.equal(subscriber.received.length, before);
  });

  await steps.check('what is queued by then waits outside the queue, and status tells of it', async () => {
    const { generation } = only(await advertBridge.status());
    const message: ChangedAdvert = {
      key: `queued-late:${advert}`,
      partnerAccount: 'main',
      generation,
      feed: 'adverts',
      advertId: advert,
      listedAt: new Date().toISOString(),
      cause: 'feed',
      correlationId: 'queued-late',
    };
    await cloud.sqs.send(
      new SendMessageCommand({
        QueueUrl: outputs.queueUrl,
        MessageBody: JSON.stringify(message),
        MessageGroupId: messageGroupOf(message),
        MessageDeduplicationId: message.key,
      }),
    );
    const inQueue = () => countMessages({ client: cloud.sqs, url: outputs.queueUrl });
    const until = Date.now() + onItsWayMs;
    while ((await inQueue()) > 0 && Date.now() < until) await sleep(500);
    assert.equal(await inQueue(), 0, 'messages in the queue');
    assert.equal((await advertBridge.status()).queue.waiting, 1, 'messages that wait');
  });

  await steps.check('connected again, it goes on from where it was', async () => {
    await advertBridge.run(['connect', 'main', '--refresh-token-stdin'], control.issueRefreshToken('main'));
    await deliver(deployment, 1);
    assert.equal(only(await advertBridge.status()).state, 'polling');
    const waiting = async () => (await advertBridge.status()).queue.waiting;
    const until = Date.now() + onItsWayMs;
    while ((await waiting()) > 0 && Date.now() < until) await sleep(500);
    assert.equal(await waiting(), 0, 'messages that still wait');
  });
}

function only({ partnerAccounts }: Status): Status['partnerAccounts'][number] {
  const [account, ...others] = partnerAccounts;
  assert.ok(account && others.length === 0, 'exactly one partner account');
  return account;
}

import assert from 'node:assert/strict';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { until } from '../../helpers/until.ts';
import { advertBridgeOn } from '../stack/advert-bridge.ts';
import { type Deployment, onItsWayMs, settled, silenceMs } from '../stack/deployment.ts';
import { drain } from '../stack/functions.ts';
import { checkMoved, eventsOf } from '../stack/histories.ts';
import type { Received } from '../stack/subscriber.ts';
import { moveKilledSteps } from './move-killed.ts';

/** Two partner accounts of a folder go on in the stack: docs/operate/move.md. */
export async function moveSteps(deployment: Deployment): Promise<void> {
  const { steps, advertBridge, sandbox, subscriber, cloud, outputs, env, processes, folder } = deployment;
  const { control, application } = sandbox;
  const dir = join(folder, 'moved');
  const template = join(folder, 'to-move');
  const local = advertBridgeOn(env, processes, ['--local', dir]);
  /** What the folder's subscriber has received. */
  const before: Received[] = [];
  const from = subscriber.received.length;
  const ofMoved = () =>
    ['mover', 'rester'].flatMap((name) => eventsOf(name, subscriber.received.slice(from)));
  const idsOf = (name: string) => control.truth(name).map(({ id }) => id);
  const setAll = (ids: readonly string[], status: string) => {
    for (const id of ids) control.setStatus(id, status);
  };
  async function runFolder(expected: number): Promise<void> {
    const args = ['run', '--until-idle', '--advert-tries', '1', '--confirm-unchanged-seconds', '0'];
    const { stdout } = await local.run(args, '', { expected: [0, 3] });
    const events = stdout.split('\n').filter((line) => line !== '');
    assert.equal(events.length, expected, 'events of the folder');
    before.push(...events.map((line) => JSON.parse(line)));
  }
  /** Drains until so many events of the moved accounts have come, since the move. */
  async function come(total: number): Promise<void> {
    await drain(cloud, outputs.drainFunctionName);
    await subscriber.readUntil(() => ofMoved().length >= total, onItsWayMs);
    await subscriber.readUntil(() => ofMoved().length > total, silenceMs);
    assert.equal(ofMoved().length, total, 'events of the stack');
  }
  const checkHistories = (name: string) =>
    checkMoved(control, name, eventsOf(name, [...before, ...subscriber.received.slice(from)]));
  let movedAt = 0;

  await steps.check('move takes two accounts to the stack: one paused, one with what waits', async () => {
    // Every refresh ends the token before: a second owner would be refused.
    control.change({ assumptions: { onlyNewestRefreshToken: true } });
    const store = ['application', '--base-url', sandbox.url, '--client-id', application.clientId];
    await local.run([...store, '--client-secret-stdin'], `${application.clientSecret}\n`);
    for (const name of ['mover', 'rester']) {
      const { refreshToken } = control.addUser(name, { adverts: 3 });
      await local.run(['connect', name, '--refresh-token-stdin'], refreshToken);
      control.expireAccessTokens(name);
      setAll(idsOf(name), 'active');
    }
    await runFolder(6);
    const [odd = '', waiting = '', listed = ''] = idsOf('mover');
    const fault = control.faults.add({
      ...{ kind: 'status', status: 400, endpoint: 'advert', advertId: odd },
      body: { error: 'validation_error', message: 'not so' },
    });
    setAll([odd, waiting], 'limited');
    await runFolder(1);
    control.faults.remove(fault);
    await local.run(['pause', 'rester', '--reason', 'a look']);
    // Fetched again by the stack, for which they wait.
    control.setStatus(waiting, 'unpaid');
    await local.run(['resync', 'mover', '--since', '1h']);
    setAll([listed, ...idsOf('rester')], 'moderated');

    await cp(dir, template, { recursive: true });
    movedAt = control.journal.nextIndex;
    const planned = await local.json('move', '--stack', 'AdvertBridge', '--dry-run');
    const { partnerAccounts } = await local.json('move', '--stack', 'AdvertBridge');
    assert.deepEqual(planned.partnerAccounts, partnerAccounts);
    const [mover, rester] = partnerAccounts;
    assert.partialDeepStrictEqual(mover, { partnerAccount: 'mover', adverts: 3, deadLetters: 1 });
    assert.ok(mover.waiting > 0, 'messages wait');
    assert.partialDeepStrictEqual(rester, { partnerAccount: 'rester', adverts: 3 });
    const asked = control.journal.list(movedAt).filter(({ user }) => user === 'mover' || user === 'rester');
    assert.deepEqual(asked, [], 'the partner service was asked');
  });

  await steps.check('a folder that was moved says where its accounts are', async () => {
    for (const command of ['status', 'doctor', 'run']) {
      const { code, stdout, stderr } = await local.run([command], '', { expected: [1] });
      assert.equal(code, 1);
      assert.match(stdout + stderr, /were moved to stack AdvertBridge/, command);
    }
  });

  await steps.check(
    'the next event of each advert has the next number and the right previousStatus',
    async () => {
      // A token is not renewed again in the first five seconds after it was.
      const renewedAt = Math.max(
        ...control.journal.list(0).map(({ grantType, atMs }) => (grantType === null ? 0 : atMs)),
      );
      await until('the next renewal is due', () => Date.now() > renewedAt + 5_000);
      for (const name of ['mover', 'rester']) control.expireAccessTokens(name);
      await come(3);
      checkHistories('mover');
      const deadLetters = async (): Promise<{ id: string; partnerAccount: string }[]> => {
        const listed = await advertBridge.json('dead-letters', 'list');
        return listed.deadLetters.filter((one: Record<string, string>) => one.partnerAccount === 'mover');
      };
      const [dead] = await deadLetters();
      await advertBridge.run(['dead-letters', 'redrive', dead?.id ?? 'none']);
      // A second message of an advert is put back after the first.
      await drain(cloud, outputs.drainFunctionName);
      await settled(advertBridge);
      assert.deepEqual(await deadLetters(), []);
      const { partnerAccounts } = await advertBridge.status();
      const { paused } = partnerAccounts.find(({ name }) => name === 'rester') ?? {};
      assert.equal(paused?.reason, 'a look');
      await advertBridge.run(['resume', 'rester']);
      await come(6);
      checkHistories('rester');
      await settled(advertBridge);
    },
  );

  await moveKilledSteps(deployment, { dir: template, published: before });

  await steps.check(
    'no moment of a move has two owners of a refresh token, or a feed without a cursor',
    async () => {
      const asked = control.journal.list(movedAt);
      const refreshes = asked.filter(({ grantType }) => grantType === 'refresh_token');
      assert.ok(refreshes.length >= 2, 'both were refreshed');
      assert.deepEqual(new Set(refreshes.map(({ status }) => status)), new Set([200]));
      const reads = asked.filter(
        ({ endpoint, user }) => endpoint === 'feed' && /^(mover|rester)$/.test(`${user}`),
      );
      assert.ok(reads.length > 0);
      for (const { query } of reads) assert.match(query, /cursor=/);
      control.change({ assumptions: { onlyNewestRefreshToken: false } });
    },
  );
}

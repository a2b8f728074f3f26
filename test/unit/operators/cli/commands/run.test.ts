import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { openEmbeddedState } from '../../../../../embedded/state/state.ts';
import { withHold } from '../../../../../shared/domain/holds.ts';
import { changedAdvert, settlement } from '../../../../helpers/records.ts';
import { shortenWaits } from '../../../../helpers/short-waits.ts';
import { eventsIn, startConnected } from '../local-bridge.ts';

it('run --until-idle prints one line an event, and next time only new ones', async () => {
  const { sandbox, runUntilIdle, status } = await startConnected();
  const ids = sandbox.control.createAdverts(25, { status: 'new' });

  const first = await runUntilIdle();
  sandbox.control.setStatus(ids[0] as string, 'active');
  const second = await runUntilIdle();

  expect([first.exitCode, second.exitCode]).toEqual([0, 0]);
  expect(new Set(eventsIn(first.stdout).map(({ detail }) => detail.data.advertId))).toEqual(new Set(ids));
  expect(eventsIn(second.stdout).map(({ detail }) => detail.data)).toEqual([
    { advertId: ids[0], status: 'active', previousStatus: 'new' },
  ]);
  expect(first.stderr).toBe('25 events.\n');
  expect((await status()).partnerAccounts[0].books).toMatchObject({ listed: 26, events: 26, inFlight: 0 });
});

it('status expects the next run --until-idle once two have ended idle', async () => {
  const { run, runUntilIdle } = await startConnected();
  const looked = async () => {
    const { exitCode, stdout } = await run('status');
    return [exitCode, stdout.match(/^Delivering, .*|ended at|: nothing is polled\. W/)?.[0]];
  };
  const isMissed = [3, ': nothing is polled. W'];
  expect(await looked()).toEqual(isMissed);
  await runUntilIdle();
  expect(await looked()).toEqual([3, 'ended at']);
  await runUntilIdle();
  expect(await looked()).toEqual([0, 'Delivering, but not what changed after the last run.']);
  await run('run', { signal: AbortSignal.abort() });
  expect(await looked()).toEqual(isMissed);
});

it('run publishes only chosen statuses, with chosen fields', async () => {
  const { sandbox, runUntilIdle } = await startConnected();
  const [advertId = ''] = sandbox.control.createAdverts(2);
  sandbox.control.setStatus(advertId, 'sold');

  const { stdout } = await runUntilIdle(' --event-fields title,price,missing --publish-statuses sold');

  const fields = { title: `Advert ${advertId}`, price: expect.any(Number) };
  expect(eventsIn(stdout).map(({ detail }) => detail.data)).toEqual([
    { advertId, status: 'sold', previousStatus: null, fields },
  ]);
});

it('run --until-idle ends with 3 when something is dead-lettered', async () => {
  const { sandbox, runUntilIdle, dir } = await startConnected();
  sandbox.control.listRaw('no-id');

  const { exitCode, stderr } = await runUntilIdle();

  expect(exitCode).toBe(3);
  expect(stderr).toContain(`\`advert-bridge status --local ${dir}\` says what`);
});

it('run --until-idle ends with 3 when a partner account is stopped', async () => {
  const { sandbox, runUntilIdle, run, dir } = await startConnected();
  sandbox.control.revoke();

  const { exitCode, stdout } = await runUntilIdle();
  const status = await run('status');

  expect(exitCode).toBe(3);
  expect(eventsIn(stdout)).toMatchObject([{ 'detail-type': 'PartnerAuthorizationRequired' }]);
  expect(status).toMatchObject({ exitCode: 3, stdout: expect.stringMatching(/^state: +stopped$/m) });
  expect(status.stdout).toContain(`advert-bridge connect main --open --local ${dir}`);
});

it('run --until-idle ends with 3 when all adverts of an account fail', async () => {
  const { sandbox, inState, runUntilIdle } = await startConnected();
  sandbox.control.faults.add({ kind: 'status', status: 403, endpoint: 'advert' });
  const asked = await inState(async ({ queue, partnerAccounts }) => {
    const { generation = 0 } = (await partnerAccounts.read('main')) ?? {};
    await queue.send(['1', '2'].map((advertId) => changedAdvert({ advertId, generation })));
    const deliveries = await queue.receive({ maxGroups: 2, maxPerGroup: 1, visibilityMs: 60_000 });
    const failedAt = Date.now();
    await queue.settle(deliveries.map((one) => settlement(one, { kind: 'hold', failedAt })));
    const since = failedAt - 61_000;
    const hold = { kind: 'service', fault: 'forbidden', since, until: since, forMs: 1_000 } as const;
    await partnerAccounts.change('main', (account) => withHold(account, hold));
    return () => sandbox.control.journal.list().filter(({ path }) => /adverts\/\d$/.test(path)).length;
  });

  const { exitCode, stderr } = await runUntilIdle();

  expect([exitCode, asked()]).toEqual([3, 1]);
  expect(stderr).toContain('answers none of its adverts well (forbidden). Waiting: 2 changes; one tries');
});

it('run --until-idle does not wait for a last look in an hour', async () => {
  const { inState, runUntilIdle } = await startConnected();
  await inState(async ({ queue, partnerAccounts }) => {
    const { generation = 0 } = (await partnerAccounts.read('main')) ?? {};
    await queue.send([changedAdvert({ advertId: '1', generation })]);
    const [delivery] = await queue.receive({ maxGroups: 1, maxPerGroup: 1, visibilityMs: 60_000 });
    const wait = { dueMs: Date.now() + 3_600_000, forMs: 3_600_000 };
    await queue.settle([settlement(delivery, { kind: 'hold', wait })]);
  });

  expect(await runUntilIdle()).toMatchObject({ exitCode: 0, stdout: '' });
});

it('run frees what a killed run held, and leaves its name', async () => {
  const { dir, runUntilIdle } = await startConnected();
  const state = openEmbeddedState(dir);
  onTestFinished(state.close);
  const refreshing = { holder: 'run-killed', startedAt: Date.now(), until: Date.now() + 3_600_000 };
  await state.partnerAccounts.change('main', (account) => ({ ...account, refreshing }));

  await runUntilIdle();

  expect(await state.partnerAccounts.read('main')).not.toHaveProperty('refreshing');
  expect(readFileSync(path.join(dir, 'heartbeat'), 'utf8')).toMatch(
    /^pid \d+ since \S+Z \(advert-bridge run --local /,
  );
});

it('run ends with the fault when the service is down', async () => {
  shortenWaits(20);
  const { sandbox, runUntilIdle, status } = await startConnected();
  await sandbox.close();

  const ended = await runUntilIdle();

  expect(ended).toMatchObject({
    exitCode: 1,
    stdout: '',
    stderr: expect.stringMatching(/^advert-bridge: [^\n]+\n$/m),
  });
  expect(ended.stderr).toContain(`the partner service at ${sandbox.url} cannot be reached`);
  expect((await status()).partnerAccounts).toMatchObject([{ name: 'main', state: 'polling' }]);
});

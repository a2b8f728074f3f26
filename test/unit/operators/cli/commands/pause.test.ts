import { userInfo } from 'node:os';
import { expect, it } from 'vitest';
import { toInstant } from '../../../../../shared/domain/clock.ts';
import { holdBridge, serviceHold, stopped, tokenHold } from '../../../../helpers/holds.ts';
import { settlement } from '../../../../helpers/records.ts';
import { startConnected } from '../local-bridge.ts';

it('pause holds back the feed until resume, and status shows its details', async () => {
  const { run, status, sandbox } = await startConnected();
  sandbox.control.createAdverts(3);
  const before = Date.now();

  const paused = await run('pause main --for 2h --reason migration --json');

  const { username: who } = userInfo();
  const shown = { who, reason: 'migration', since: expect.any(String), until: expect.any(String) };
  expect(paused.exitCode).toBe(0);
  expect(JSON.parse(paused.stdout)).toEqual({ partnerAccount: 'main', paused: shown });
  const {
    partnerAccounts: [account],
    paused: ofBridge,
  } = await status();
  expect(account).toMatchObject({ state: 'paused', reason: 'migration', paused: shown });
  expect(Date.parse(account.paused.until) - before).toBeGreaterThanOrEqual(2 * 3_600_000);
  expect(ofBridge).toBeNull();
  // While a pause is in force, it counts as needing manual action, in `status`, `run --until-idle` and `poll`.
  expect(account).toMatchObject({ needsPerson: true, attention: ['operator-paused'] });
  const poll = await run('poll main');
  expect(poll).toMatchObject({
    exitCode: 3,
    stdout: expect.stringContaining(`paused by ${who}`),
  });

  expect(await run('resume main')).toMatchObject({
    exitCode: 0,
    stderr: expect.stringContaining('main is resumed'),
  });
  const polled = await run('poll main --json');
  expect(JSON.parse(polled.stdout).polls).toMatchObject([{ end: 'up-to-date', listed: 3 }]);
  expect(polled.exitCode).toBe(0);
  expect((await run('status')).stdout).toMatch(/^Not delivering since .*: No process runs this bridge/);
});

it('line breaks in a reason or name of a pause begin no line of output', async () => {
  const { run, status, inState } = await startConnected();
  const reason = 'why\nforged:\u2028forged:\u0085forged:\u202e';
  await run(`pause main --reason=${reason}`);
  const ofBridge = { kind: 'operator', who: `eva\nforged:`, since: Date.now(), reason } as const;
  await inState(({ budgetStore }) => holdBridge(budgetStore, ofBridge));

  for (const args of ['status', 'status main', 'doctor', 'history main 1', 'resume main']) {
    const { stdout, stderr } = await run(args);
    expect(stdout + stderr, args).toContain('\\u000aforged:');
    expect(stdout + stderr, args).not.toMatch(/^forged:|[\u2028\u0085\u202e]/m);
  }
  expect((await status()).paused).toMatchObject({ who: 'eva\nforged:', reason });
});

it('a paused bridge asks nothing in a run, and keeps its messages', async () => {
  const { run, sandbox } = await startConnected();
  sandbox.control.createAdverts(3);
  await run('poll');
  await run('pause');
  const asked = () => sandbox.control.journal.list().length;
  const before = asked();

  const idle = await run('run --until-idle');

  expect(idle).toMatchObject({ exitCode: 3, stdout: '' });
  expect((await run('status')).stdout).toMatch(/^state: +not polled$/m);
  expect(asked()).toBe(before);
  const early = await run('resume main');
  expect(early).toMatchObject({
    exitCode: 3,
    stderr: expect.stringContaining('The whole bridge is still paused'),
  });
  expect(await run('resume')).toMatchObject({ exitCode: 0 });
  const ended = await run('run --until-idle');
  expect(ended.exitCode).toBe(0);
  expect(ended.stdout.trim().split('\n')).toHaveLength(3);
});

it('resume --early ends a pause and the service’s wait, but no stop', async () => {
  const { run, inState } = await startConnected();
  const until = Date.now() + 60_000;
  const held = toInstant(until);
  const circuit = serviceHold('circuit', until);
  const { holds: stop } = stopped('refresh-token-rejected');
  const holds = () =>
    inState(async ({ budgetStore, partnerAccounts }) => [
      (await budgetStore.read()).holds,
      (await partnerAccounts.read('main'))?.holds,
    ]);
  await inState(async ({ budgetStore, partnerAccounts }) => {
    await holdBridge(budgetStore, circuit);
    await partnerAccounts.change('main', (row) => ({ ...row, holds: [...stop, tokenHold(until)] }));
  });
  await run('pause main --reason first');
  await run('pause main --reason second');
  await run('pause');

  const resumed = JSON.parse((await run('resume main --json')).stdout);
  const between = await holds();
  const early = JSON.parse((await run('resume main --early --json')).stdout);

  const ended = { who: userInfo().username, reason: 'second', since: expect.any(String), until: null };
  const stillPaused = { ...ended, reason: null };
  const kept = { partnerAccount: 'main', stillPaused };
  const passing = {
    ...{ servicePauseUntil: null, circuitEnded: false, stillHeldUntil: held },
    accountHoldsEnded: [],
  };
  expect(resumed).toEqual({ ...kept, ...passing, ended });
  expect(between).toMatchObject([
    [circuit, { kind: 'operator' }],
    [...stop, tokenHold(until)],
  ]);
  const gone = { servicePauseUntil: held, circuitEnded: true, stillHeldUntil: null };
  expect(early).toEqual({ ...kept, ...gone, ended: null, accountHoldsEnded: ['token'] });
  expect(await holds()).toMatchObject([[{ kind: 'operator' }], stop]);
});

it('resume --early says that it ended a wait of the service alone', async () => {
  const { run, inState } = await startConnected();
  await inState(({ partnerAccounts }) =>
    partnerAccounts.change('main', (row) => ({ ...row, holds: [tokenHold(Date.now() + 60_000)] })),
  );

  const [first, second] = [await run('resume main --early'), await run('resume main --early')];

  expect(first.stdout + first.stderr).toContain('main no longer waits because of what the service answered.');
  expect(first.stdout + first.stderr).not.toContain('was not paused by anybody');
  expect(second.stdout + second.stderr).toContain('main was not paused by anybody.');
});

it.each([
  ['pause nobody', 'no such partner account. Known: main'],
  ['resume nobody', 'no such partner account. Known: main'],
  ['pause main --for 2weeks', '--for: expected a number of seconds, minutes, hours or days'],
  ['pause main --for 400d', '--for: expected'],
])('pause and resume say what is wrong with `%s`', async (command, message) => {
  const { run } = await startConnected();
  expect(await run(command)).toMatchObject({ exitCode: 2, stderr: expect.stringContaining(message) });
});

it('poll ends with 1, reason and remedy when the service does not answer', async () => {
  const { run, sandbox } = await startConnected();
  sandbox.control.createAdverts(1);
  expect((await run('poll')).stdout).toContain('To publish what was listed: `advert-bridge run');
  await sandbox.close();

  const down = await run('poll');

  expect(down).toMatchObject({
    exitCode: 1,
    stdout: expect.stringContaining('transient'),
  });
});

it('resume lets an advert that fails be tried for the last time', async () => {
  const { run, runUntilIdle, sandbox, inState } = await startConnected();
  const [advertId = ''] = sandbox.control.createAdverts(1);
  sandbox.control.faults.add({ kind: 'status', status: 500, endpoint: 'advert', advertId });
  await run('poll');
  await inState(async ({ queue }) => {
    const [delivery] = await queue.receive({ maxGroups: 1, maxPerGroup: 1, visibilityMs: 60_000 });
    const wait = { dueMs: Date.now() + 3_600_000, forMs: 3_600_000 };
    await queue.settle([settlement(delivery, { kind: 'hold', wait })]);
  });

  const resumed = await run(`resume main --advert ${advertId} --json`);

  expect(JSON.parse(resumed.stdout)).toEqual({ partnerAccount: 'main', advertId, messages: 1 });
  expect(await runUntilIdle()).toMatchObject({ exitCode: 3 });
  const { stdout } = await run('dead-letters list --json');
  expect(JSON.parse(stdout).deadLetters).toMatchObject([{ advertId, fault: 'transient' }]);
});

it.each([
  ['main --advert 1', 1, 'no change of advert 1 has failed and waits'],
  ['--advert 1', 2, '--advert needs NAME'],
  ['main --advert 1 --early', 2, '--advert needs NAME'],
  ['nobody --advert 1', 2, 'no such partner account'],
])('resume %s says why it cannot', async (args, exitCode, says) => {
  const { run } = await startConnected();
  const { exitCode: ended, stderr } = await run(`resume ${args}`);
  expect(ended).toBe(exitCode);
  expect(stderr).toContain(says);
  expect(stderr).not.toContain('``');
});

import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { changedAdvert, deadLetter } from '../../../helpers/records.ts';
import { shortenWaits } from '../../../helpers/short-waits.ts';
import { giveUp, startConnected, startLocal } from './local-bridge.ts';
import { cli, newFolder } from './run-cli.ts';

const oneMessage = /^advert-bridge: [^\n]+\n$/;

it('application stores the credentials, replaced when given again', async () => {
  const { application, inState, run, sandbox } = await startLocal();
  const file = path.join(newFolder(), 'secret');
  writeFileSync(file, 'second\r\n');

  await application('first\n');
  const { exitCode, stdout } = await run(
    `application --base-url ${sandbox.url} --client-id sandbox-client --client-secret-file ${file} --json`,
  );

  expect(exitCode).toBe(0);
  expect(JSON.parse(stdout)).toEqual({ clientId: 'sandbox-client', baseUrl: sandbox.url, stored: true });
  const { clientId, clientSecret } = await inState((state) => state.applicationSecret.read());
  expect([clientId.reveal(), clientSecret.reveal()]).toEqual(['sandbox-client', 'second']);
});

it('application leaves the stored secret when a wrong one comes', async () => {
  const { application, connect } = await startLocal();
  await application();

  for (const [secret, message] of [
    ['', 'standard input holds nothing'],
    ['\n', 'standard input holds nothing'],
    ['two\nlines\n', 'has to be one line'],
    ['x'.repeat(20_000), 'at most 16 KB'],
  ] as const) {
    const ended = await application(secret);
    expect(ended).toMatchObject({ exitCode: 1, stderr: expect.stringMatching(oneMessage) });
    expect(ended.stderr).toContain(message);
  }
  expect(await connect()).toMatchObject({ exitCode: 0 });
});

it('application asks for the secret on a terminal', async () => {
  const { run, sandbox, inState } = await startLocal();

  const ended = await run(
    `application --base-url ${sandbox.url} --client-id sandbox-client --client-secret-stdin --check`,
    { stdin: 'sandbox-client-secrex\u007ft\n', isTTY: true },
  );

  expect(ended).toMatchObject({
    exitCode: 0,
    stderr: expect.stringMatching(/^The client secret \(it is not shown\): \n/),
  });
  const { clientSecret } = await inState((state) => state.applicationSecret.read());
  expect(clientSecret.reveal()).toBe('sandbox-client-secret');
});

it.each([
  ['Ctrl-C', 'hunter2\u0003'],
  ['Ctrl-D', '\u0004'],
])('application stores nothing when %s ends the question for the secret', async (_, stdin) => {
  const { run } = await startLocal();
  const words = 'application --base-url https://a.example --client-id a --client-secret-stdin';
  expect(await run(words, { stdin, isTTY: true })).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('your line holds nothing. Nothing was stored'),
  });
});

it('application --check stores what the service takes, and keeps no token', async () => {
  const { sandbox, run, inState, status } = await startLocal();
  const check = (secret: string, baseUrl = sandbox.url) =>
    run(`application --base-url ${baseUrl} --client-id sandbox-client --client-secret-stdin --check`, {
      stdin: secret,
    });

  expect(await check('sandbox-client-secret')).toMatchObject({
    exitCode: 0,
    stderr: expect.stringContaining('The partner service accepts them. Stored'),
  });
  expect(
    sandbox.control.journal.list().map(({ grantType, status: answered }) => [grantType, answered]),
  ).toEqual([['client_credentials', 200]]);
  for (const wrong of [await check('a-typo'), await check('a-typo', 'http://127.0.0.1:1')]) {
    expect(wrong).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('nothing was stored: ') });
    expect(wrong.stderr).not.toContain('a-typo');
  }
  const { clientSecret } = await inState((state) => state.applicationSecret.read());
  expect(clientSecret.reveal()).toBe('sandbox-client-secret');
  expect(
    (await run('connect main --refresh-token-stdin', { stdin: 'sandbox-refresh-token-main' })).exitCode,
  ).toBe(0);
  expect((await status()).partnerAccounts).toMatchObject([{ state: 'polling', hold: null }]);
});

it('connect keeps the cursor when an account is connected again', async () => {
  const { application, connect, status, inState } = await startLocal();
  await application();

  const first = await connect(
    'main',
    'sandbox-refresh-token-main\n',
    ' --since 2026-01-01T01:00:00+01:00 --json',
  );
  const again = await connect('main', 'sandbox-refresh-token-main', ' --since 30d');

  expect(first).toMatchObject({ exitCode: 0, stderr: '' });
  expect(JSON.parse(first.stdout)).toMatchObject({
    partnerAccount: 'main',
    isNew: true,
    scope: 'v2 read write',
  });
  expect(again).toMatchObject({ exitCode: 0, stdout: '' });
  expect(again.stderr).toContain('Connected main again');
  expect(again.stderr).toContain('--since was ignored');
  expect((await status()).partnerAccounts).toMatchObject([{ name: 'main', state: 'polling' }]);
  const feeds = await inState(({ feedStates }) => feedStates.list());
  expect(feeds).toMatchObject([{ since: '2026-01-01T00:00:00.000Z' }]);
});

it('connect gives the dead letters of a known account back to the queue', async () => {
  const { connect, status, inState } = await startConnected();
  await inState(async (state) => {
    const generation = (await state.partnerAccounts.read('main'))?.generation ?? 0;
    const message = changedAdvert({ generation });
    await giveUp(state, { ...deadLetter({ fault: 'account-stopped' }), message });
  });

  const again = await connect();

  expect(again.stderr).toContain('1 of its dead letters were redriven');
  expect((await status()).queue).toEqual({ waiting: 1, deadLetters: 0 });
});

it('connect stores nothing when the refresh token is wrong', async () => {
  const { application, connect, status } = await startLocal();
  await application();

  const ended = await connect('main', 'hunter2');

  expect(ended).toMatchObject({ exitCode: 1, stdout: '', stderr: expect.stringMatching(oneMessage) });
  expect(ended.stderr).toContain('no longer accepts the refresh token');
  expect(ended.stderr).not.toContain('hunter2');
  expect(await status()).toMatchObject({ partnerAccounts: [] });
});

it('connect asks for the application first', async () => {
  const { run, inState } = await startLocal();
  await inState(async () => undefined);

  expect(await run('connect main --refresh-token-stdin', { stdin: 'x' })).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('Store it first: `advert-bridge application --base-url'),
  });
});

it('disconnect stops polling and keeps the account', async () => {
  const { run, status } = await startConnected();

  const ended = await run('disconnect main');

  expect(ended).toMatchObject({ exitCode: 0, stdout: '' });
  expect(ended.stderr).toContain('connect main --open');
  expect(await status()).toMatchObject({
    partnerAccounts: [{ state: 'stopped', reason: 'disconnected', tokenExpiresAt: null }],
  });
  expect(await run('status')).toMatchObject({ exitCode: 0 });
  expect(await run('disconnect main --json')).toMatchObject({ exitCode: 0 });
});

it('disconnect --forget asks on a terminal', async () => {
  shortenWaits(100);
  const { run, status } = await startConnected();

  const no = await run('disconnect main --forget', { isTTY: true, stdin: '\n' });
  const kept = await status();
  const yes = await run('disconnect main --forget', { isTTY: true, stdin: 'y\n' });

  expect(no).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('nothing was changed') });
  expect(kept.partnerAccounts[0].state).toBe('polling');
  const said = 'forgot its cursor, history and dead letters. Its books and its published events stay.';
  expect(yes).toMatchObject({ exitCode: 0, stderr: expect.stringContaining(said) });
  expect((await status()).partnerAccounts).toEqual([]);
});

it('disconnect --forget takes the dead letters of that account alone', async () => {
  shortenWaits(100);
  const { connect, run, status, inState } = await startConnected({
    users: [{ name: 'main' }, { name: 'other' }],
  });
  await connect('other');
  const malformed = [deadLetter(), deadLetter({ partnerAccount: 'other' })];
  await inState(({ deadLetters }) => Promise.all(malformed.map(deadLetters.sendMalformed)));

  expect(await run('status')).toMatchObject({ exitCode: 3, stderr: '' });
  await run('disconnect main --forget --yes');

  expect((await status()).queue).toEqual({ waiting: 0, deadLetters: 1 });
});

it('a state is not created when the folder is mistyped', async () => {
  const folder = newFolder();

  for (const args of ['status', 'run', 'disconnect main', 'connect main --refresh-token-file /dev/null']) {
    const ended = await cli(`${args} --local ${folder}/nothing`);
    expect(ended.exitCode).toBe(1);
  }
  expect(await cli(`status --local ${folder}/nothing`)).toMatchObject({
    stderr: expect.stringContaining(
      `there is no bridge in ${folder}/nothing. Begin one there: \`advert-bridge application`,
    ),
  });
  expect(readdirSync(folder)).toEqual([]);
});

it('a stack trace is shown only when asked for', async () => {
  const { dir, run } = await startLocal();
  mkdirSync(dir);
  writeFileSync(path.join(dir, 'bridge.db'), 'no database '.repeat(500));

  expect((await run('status')).stderr).not.toMatch(/\n\s+at /);
  expect((await run('status --stack-trace')).stderr).toMatch(/\n\s+at [\s\S]*caused by/);
});

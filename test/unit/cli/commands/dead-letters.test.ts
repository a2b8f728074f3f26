import { describe, expect, it } from 'vitest';
import type { DeadLetter } from '../../../../shared/contract/messages.ts';
import { openEmbeddedState } from '../../../../shared/sqlite/state.ts';
import { changedAdvert, deadLetter } from '../../../helpers/records.ts';
import { startLocal } from '../local-bridge.ts';
import { cli } from '../run-cli.ts';

/** A bridge with two letters that have a message, 1 of main and 2 of other, and 3 of main with none. */
async function withLetters() {
  const local = await startLocal();
  await local.application();
  await local.connect();
  const state = openEmbeddedState(local.dir);
  const giveUp = async (change: Partial<DeadLetter>) => {
    const message = changedAdvert({
      partnerAccount: change.partnerAccount ?? 'main',
      advertId: change.advertId ?? '1',
    });
    await state.queue.send([message]);
    const [delivery] = await state.queue.receive({ maxGroups: 1, maxPerGroup: 1, visibilityMs: 60_000 });
    if (!delivery) throw new Error('nothing received');
    const letter = deadLetter({ message, ...change });
    await state.queue.settle([{ delivery, verdict: { kind: 'dead-letter', letter } }]);
  };
  await giveUp({ partnerAccount: 'main', advertId: '11', reason: 'the answer has no status' });
  await giveUp({ partnerAccount: 'other', advertId: '22', fault: 'transient', reason: 'answered 500' });
  await state.deadLetters.sendMalformed([
    deadLetter({
      advertId: '../\u001b[31mx',
      count: 3,
      fault: 'malformed-id',
      reason: 'no advert ID',
      message: null,
    }),
  ]);
  state.close();
  const letters = (args: string, more = {}) => local.run(`dead-letters ${args}`, more);
  const ids = async (name = '') =>
    JSON.parse((await letters(`list${name} --json`)).stdout).deadLetters.map(({ id }: { id: string }) => id);
  return { ...local, letters, ids };
}

describe('dead-letters list', () => {
  it('says why each was given up, and ends with 3', async () => {
    const { letters } = await withLetters();

    const { exitCode, stdout, stderr } = await letters('list');

    expect({ exitCode, stderr }).toEqual({ exitCode: 3, stderr: '' });
    expect(stdout).toMatch(/^ID +WHEN +ACCOUNT +ADVERT +FAULT +REASON\n/);
    expect(stdout).toMatch(
      /\n1 +2026-11-20T12:00:00.000Z +main +11 +contract-broken +the answer has no status\n/,
    );
    expect(stdout).toMatch(/\n3 .*x and 2 more +malformed-id +no advert ID \(nothing to send\)\n/);
    expect(stdout).toContain('advert-bridge dead-letters show ID --local');
    expect(stdout).not.toContain('\u001b');
  });

  it('offers a redrive only where there is something to send', async () => {
    const { letters, ids } = await withLetters();
    expect((await letters('list')).stdout).toContain('dead-letters redrive');

    const [first, second] = await ids();
    await letters(`drop ${first} ${second} --yes`);

    const { exitCode, stdout } = await letters('list');
    expect(exitCode).toBe(3);
    expect(stdout).toContain('dead-letters drop ID');
    expect(stdout).not.toContain('redrive');
  });

  it('gives all of them as JSON, or those of one partner account', async () => {
    const { letters, ids } = await withLetters();

    const { exitCode, stdout, stderr } = await letters('list --json');

    expect({ exitCode, stderr }).toEqual({ exitCode: 3, stderr: '' });
    expect(JSON.parse(stdout)).toMatchObject({
      deadLetters: [
        {
          id: '1',
          partnerAccount: 'main',
          advertId: '11',
          fault: 'contract-broken',
          message: { advertId: '11' },
        },
        { id: '2', partnerAccount: 'other' },
        { id: '3', fault: 'malformed-id', message: null },
      ],
      unseen: 0,
    });
    expect(await ids(' main')).toEqual(['1', '3']);
    // Not connected, but its letters are there.
    expect(await ids(' other')).toEqual(['2']);
  });

  it('of an unknown name lists those that are known', async () => {
    const { letters } = await withLetters();

    expect(await letters('list mian')).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('Known: main'),
    });
  });

  it('ends with 0 where there is none', async () => {
    const { application, run } = await startLocal();
    await application();

    expect(await run('dead-letters list')).toEqual({ exitCode: 0, stdout: 'No dead letters.\n', stderr: '' });
  });
});

describe('dead-letters show', () => {
  it('shows the whole letter', async () => {
    const { letters } = await withLetters();

    const told = await letters('show 1');
    const given = await letters('show 1 --json');

    expect(told).toMatchObject({ exitCode: 0, stderr: '' });
    for (const part of ['main', '11', 'contract-broken', 'the answer has no status', 'read-', 'redrive 1']) {
      expect(told.stdout).toContain(part);
    }
    expect(given).toMatchObject({ exitCode: 0, stderr: '' });
    expect(JSON.parse(given.stdout)).toMatchObject({ id: '1', receives: 1, message: { feed: 'adverts' } });
  });

  it('of one that is not there says where to look', async () => {
    const { letters } = await withLetters();

    expect(await letters('show 99')).toMatchObject({
      exitCode: 1,
      stdout: '',
      stderr: expect.stringMatching(/no dead letter 99: .*`advert-bridge dead-letters list --local/),
    });
  });
});

describe('dead-letters redrive', () => {
  it('puts a message back into the queue and out of the books’ dead letters', async () => {
    const { letters, ids, status } = await withLetters();

    expect(await letters('redrive 1')).toMatchObject({ exitCode: 0, stdout: '' });

    expect(await ids()).toEqual(['2', '3']);
    expect((await status()).queue).toEqual({ waiting: 1, deadLetters: 2 });
  });

  it('of all, or of a partner account, leaves those with nothing to send, and may be done again', async () => {
    const { letters, ids } = await withLetters();

    const main = await letters('redrive main --json');
    const all = await letters('redrive --all');
    const again = await letters('redrive --all');

    expect(main.exitCode).toBe(3);
    expect(JSON.parse(main.stdout)).toEqual({
      redriven: ['1'],
      nothingToSend: ['3'],
      refused: [],
      unknown: [],
    });
    expect(all).toMatchObject({
      exitCode: 3,
      stderr: expect.stringMatching(/1 dead letter was .*\n.*: 3\. /),
    });
    expect(again).toMatchObject({ exitCode: 3, stderr: expect.stringContaining('0 dead letters were') });
    expect(await ids()).toEqual(['3']);
  });

  it('does those that are there, and names those that are not', async () => {
    const { letters, ids } = await withLetters();

    const ended = await letters('redrive 1 99');

    expect(ended).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('no dead letter 99') });
    expect(await ids()).toEqual(['2', '3']);
  });
});

describe('a word that is neither the ID of a dead letter nor a partner account', () => {
  it.each([
    ['redrive 3f0a6c1e-9d55', 'neither the ID of a dead letter, as'],
    ['redrive 3F0A6C1E', 'neither the ID of a dead letter, as'],
    ['redrive mian', 'nor a partner account. Known: main'],
    ['list mian', 'no such partner account. Known: main'],
    ['show no-such-id', 'ID: expected the ID of a dead letter, as'],
    ['drop no-such-id --yes', 'ID: expected the ID of a dead letter, as'],
  ])('%s says where IDs are shown, for the same bridge', async (command, message) => {
    const { letters, dir } = await withLetters();

    const { exitCode, stderr } = await letters(command);

    expect(exitCode).toBe(2);
    expect(stderr).toContain(message);
    if (message.endsWith('as'))
      expect(stderr).toContain(`\`advert-bridge dead-letters list --local ${dir}\``);
    expect(stderr).not.toContain(command.split(' ')[1]);
  });
});

describe('dead-letters drop', () => {
  it('asks first', async () => {
    const { letters, ids } = await withLetters();

    const no = await letters('drop 1', { isTTY: true, stdin: 'n\n' });
    const left = await ids();
    const yes = await letters('drop 1', { isTTY: true, stdin: 'y\n' });

    expect(no).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('nothing was changed') });
    expect(left).toEqual(['1', '2', '3']);
    expect(yes).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('1 dead letter was dropped') });
    expect(await ids()).toEqual(['2', '3']);
  });

  it('drops several with --yes, and names those that are gone already', async () => {
    const { letters, ids } = await withLetters();

    const { exitCode, stdout } = await letters('drop 1 3 --yes --json');
    const again = await letters('drop 1 --yes');

    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toEqual({ dropped: ['1', '3'], refused: [], unknown: [] });
    expect(again).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('no dead letter 1:') });
    expect(await ids()).toEqual(['2']);
  });
});

describe('dead-letters', () => {
  it.each(['', 'list ', 'show ', 'redrive ', 'drop '])('%s--help shows examples', async (command) => {
    const { exitCode, stdout } = await cli(`dead-letters ${command}--help`);

    expect(exitCode).toBe(0);
    expect(stdout).toMatch(new RegExp(`Examples:\\n  advert-bridge dead-letters ${command || 'list'}`));
  });

  it.each([
    ['redrive --local x', 'one or more IDs, one NAME of a partner account, or --all'],
    ['redrive 1 --all --local x', 'one or more IDs'],
    ['drop --yes --local x', 'ID is missing'],
    ['drop 1 --local x', 'add --yes'],
    ['drop main --yes --local x', 'ID: expected the ID of a dead letter'],
    ['show ../x --local x', 'ID: expected the ID of a dead letter'],
    ['lsit', 'Did you mean list?'],
    ['list --jsno', 'did you mean --json?'],
    ['list --local', "option '--local <DIR>' argument missing"],
    ['--local x list', '--local stands after the command: dead-letters COMMAND'],
  ])('%s is wrong usage', async (args, message) => {
    const { exitCode, stdout, stderr } = await cli(`dead-letters ${args}`);

    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toContain(message);
    expect(stderr).toMatch(/^advert-bridge: /);
  });
});

import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { changedAdvert, deadLetter } from '../../../../helpers/records.ts';
import { giveUp, startConnected } from '../local-bridge.ts';

/** A bridge with two dead letters that have a message, `one` of main and `two` of other, and `three` of main with none. */
async function withDeadLetters() {
  const local = await startConnected();
  const at = (second: number) => `2026-11-20T12:00:0${second}.000Z`;
  const given = [
    { advertId: '11', at: at(0) },
    { partnerAccount: 'other', advertId: '22', fault: 'transient', reason: 'answered 500', at: at(1) },
  ];
  const malformed = { advertId: '../\u001b[31mx', count: 3, fault: 'malformed-id', reason: 'no advert ID' };
  const stored = await local.inState(async (state) => {
    for (const { partnerAccount = 'main', ...change } of given) {
      const message = changedAdvert({ partnerAccount, advertId: change.advertId });
      await giveUp(state, { ...deadLetter({ partnerAccount, ...change }), message });
    }
    await state.deadLetters.sendMalformed(deadLetter({ ...malformed, at: at(2) }));
    return state.deadLetters.list();
  });
  const [one = '', two = '', three = ''] = stored
    .toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at))
    .map(({ id }) => id);
  const command = (args: string, more = {}) => local.run(`dead-letters ${args}`, more);
  const ids = async (name = '') =>
    JSON.parse((await command(`list${name} --json`)).stdout).deadLetters.map(({ id }: { id: string }) => id);
  return { ...local, command, ids, all: [one, two, three], one, two, three };
}

const gone = `main/${'0'.repeat(16)}`;

it('dead-letters list says why each was given up, and ends with 3', async () => {
  const { command } = await withDeadLetters();

  const { exitCode, stdout, stderr } = await command('list');

  expect({ exitCode, stderr }).toEqual({ exitCode: 3, stderr: '' });
  for (const line of [
    /^ID +WHEN +ACCOUNT +ADVERT +FAULT +REASON$/m,
    /^main\/[0-9a-f]{16} +2026-11-20T12:00:00.000Z +main +11 +contract-broken +the answer has no status$/m,
    /^main\/[0-9a-f]{16} .*x +malformed-id +no advert ID \(nothing to send\)$/m,
    /advert-bridge dead-letters show ID --local/,
  ])
    expect(stdout).toMatch(line);
  expect(stdout).not.toContain('\u001b');
});

it('dead-letters list has all of them as JSON, with their groups', async () => {
  const { command, one, two, three } = await withDeadLetters();

  const { exitCode, stdout, stderr } = await command('list --json');

  expect({ exitCode, stderr }).toEqual({ exitCode: 3, stderr: '' });
  const group = { partnerAccount: 'main', fault: 'contract-broken', count: 1 };
  const { advertId, fault } = { advertId: '11', fault: 'contract-broken' };
  expect(JSON.parse(stdout)).toMatchObject({
    deadLetters: [
      { id: one, partnerAccount: 'main', advertId, fault, message: { advertId } },
      { id: two, partnerAccount: 'other' },
      { id: three, fault: 'malformed-id', message: null },
    ],
    ...{ groups: [group, {}, {}], unreadable: [] },
  });
});

it('dead-letters list ends with 3 when none of them can be read', async () => {
  const { dir, command } = await withDeadLetters();
  const db = new DatabaseSync(`${dir}/bridge.db`);
  db.exec("UPDATE rows SET value = json_set(value, '$.fault', 7) WHERE kind = 'dead'");
  db.close();

  const { exitCode, stdout } = await command('list');

  expect(exitCode).toBe(3);
  expect(stdout).toContain('Cannot be read: ');
});

it('dead-letters list chooses by partner account, fault and time', async () => {
  const { ids, one, two, three } = await withDeadLetters();

  expect(await ids(' main')).toEqual([one, three]);
  // Not connected, but its dead letters are there.
  expect(await ids(' other')).toEqual([two]);
  expect(await ids(' --fault transient')).toEqual([two]);
  expect(await ids(' --before 2026-11-20T12:00:01Z')).toEqual([one]);
  expect(await ids(' --before 1h')).toEqual([one, two, three]);
});

it('dead-letters show prints all of a dead letter', async () => {
  const { command, one } = await withDeadLetters();

  const shown = await command(`show ${one}`);
  const asJson = await command(`show ${one} --json`);

  for (const part of ['main', '11', 'contract-broken', 'the answer has no status', `redrive ${one}`])
    expect(shown.stdout).toContain(part);
  expect(JSON.parse(asJson.stdout)).toMatchObject({ id: one, receives: 1, message: { feed: 'adverts' } });
  for (const ended of [shown, asJson]) expect(ended).toMatchObject({ exitCode: 0, stderr: '' });
});

it('redrive puts back what exists and names what does not', async () => {
  const { command, ids, status, one, two, three } = await withDeadLetters();

  const ended = await command(`redrive ${one} ${gone}`);

  expect(ended).toMatchObject({ exitCode: 1, stderr: expect.stringContaining(`no dead letter ${gone}`) });
  expect(await ids()).toEqual([two, three]);
  expect((await status()).queue).toEqual({ waiting: 1, deadLetters: 2 });
});

it('redrive leaves what has nothing to send, and may be repeated', async () => {
  const { command, ids, one, three } = await withDeadLetters();

  const main = await command('redrive main --json');
  const all = await command('redrive --all');
  const again = await command('redrive --all');

  const result = { redriven: [one], nothingToSend: [three], unknown: [] };
  expect(JSON.parse(main.stdout)).toEqual(result);
  expect(all.stderr).toMatch(
    /1 dead letter was redriven: the drain puts them back within about 60 s\.\n.*: main.*\. .*drop ID/,
  );
  expect(again.stderr).toMatch(/^0 dead letters were redriven\.\nLeft.* drop ID/);
  expect([main, all, again].map(({ exitCode }) => exitCode)).toEqual([3, 3, 3]);
  expect(await ids()).toEqual([three]);
});

it('dead-letters drop asks first', async () => {
  const { command, ids, all, one, two, three } = await withDeadLetters();

  const no = await command(`drop ${one}`, { isTTY: true, stdin: 'n\n' });
  const left = await ids();
  const yes = await command(`drop ${one}`, { isTTY: true, stdin: 'y\n' });

  expect(no).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('nothing was changed') });
  expect(left).toEqual(all);
  expect(yes).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('1 dead letter was dropped') });
  expect(await ids()).toEqual([two, three]);
});

it('dead-letters drop --yes drops several and names those already gone', async () => {
  const { command, ids, inState, one, two, three } = await withDeadLetters();

  const { exitCode, stdout } = await command(`drop ${one} ${three} --yes --json`);
  const again = await command(`drop ${one} --yes`);

  expect(exitCode).toBe(0);
  const { by, groups } = JSON.parse(stdout);
  // The drain logs it.
  expect(await inState(({ aside }) => aside.notes())).toMatchObject([{ note: { by, groups } }]);
  expect(JSON.parse(stdout)).toMatchObject({
    ...{ dropped: [one, three], unknown: [], by: expect.stringMatching(/./) },
    groups: [{ fault: 'contract-broken' }, { fault: 'malformed-id' }],
  });
  expect(again).toMatchObject({ exitCode: 1, stderr: expect.stringContaining(`no dead letter ${one}:`) });
  expect(await ids()).toEqual([two]);
});

it.each(['redrive', 'drop'])(
  'dead-letters %s --dry-run says how many, and changes nothing',
  async (action) => {
    const { command, ids, all } = await withDeadLetters();

    const told = await command(`${action} main --dry-run`);
    const { stdout } = await command(`${action} --all --fault transient --dry-run --json`);

    expect(told).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('2 dead letters match') });
    expect(JSON.parse(stdout)).toMatchObject({ matching: 1, groups: [{ fault: 'transient', count: 1 }] });
    expect(await ids()).toEqual(all);
  },
);

it.each([
  ['list nobody', 'no such partner account. Known: main'],
  ['redrive', 'say which dead letters'],
  ['redrive main --all', 'say which dead letters'],
  ['redrive --all --fault contract-brokn', 'shows it: did you mean contract-broken?'],
  ['redrive main other', 'ID: expected the ID of a dead letter'],
  ['show hunter2', 'ID: expected the ID of a dead letter'],
  [`drop ${gone}`, 'there is no terminal to ask'],
])('wrong arguments are refused: dead-letters %s', async (args, expected) => {
  const { command } = await withDeadLetters();

  const ended = await command(args);

  expect(ended).toMatchObject({ exitCode: 2, stdout: '', stderr: expect.stringContaining(expected) });
  expect(ended.stderr).not.toContain('hunter2');
});

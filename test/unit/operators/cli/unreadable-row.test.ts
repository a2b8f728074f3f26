import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { startConnected } from './local-bridge.ts';

const edits = {
  'of a partner account':
    "UPDATE rows SET value = json_set(value, '$.generation', 'x') WHERE kind = 'account' AND name = 'second'",
  'of a feed':
    "UPDATE rows SET value = json_set(value, '$.resets', 'x') WHERE kind = 'feed' AND name LIKE 'second/%'",
};

/** `main` and `second` are connected, and a row of `second` was edited by hand. */
async function withEditedRow(row: keyof typeof edits) {
  const local = await startConnected({ users: [{ name: 'main' }, { name: 'second' }] });
  await local.connect('second');
  local.sandbox.control.changeRandomly(3);
  const db = new DatabaseSync(`${local.dir}/bridge.db`);
  db.exec(edits[row]);
  db.close();
  return local;
}

describe.each(['of a partner account', 'of a feed'] as const)('a row %s that cannot be read', (row) => {
  it('an unreadable row keeps no other account from being polled', async () => {
    const { run, status } = await withEditedRow(row);

    const ended = await run('run --until-idle');

    expect(ended).toMatchObject({
      exitCode: 3,
      stderr: expect.stringContaining('a stored row cannot be read'),
    });
    expect((await status()).partnerAccounts[0]).toMatchObject({
      name: 'main',
      lastSuccess: expect.any(String),
    });
  });

  it('an unreadable row keeps no command from another account', async () => {
    const { run } = await withEditedRow(row);

    for (const command of ['poll', 'history', 'snapshot', 'dead-letters list', 'disconnect']) {
      const more = { history: ' 1001', disconnect: ' --yes' }[command] ?? '';
      expect(await run(`${command} main${more}`)).toMatchObject({ exitCode: 0 });
    }
  });

  it('an unreadable row is named before the given token is used', async () => {
    const { connect, sandbox } = await withEditedRow(row);
    const asked = () => sandbox.control.journal.list().filter(({ endpoint }) => endpoint === 'token').length;
    const before = asked();

    expect(await connect('second')).toMatchObject({
      exitCode: 1,
      stderr: expect.stringMatching(/(partner account|state of feed) second.*backup\.md/s),
    });
    expect(asked()).toBe(before);
  });
});

it.each(['disconnect second --yes', 'history second 1', 'poll second', 'snapshot'])(
  'a command that needs the account says that its row cannot be read: %s',
  async (command) => {
    const { run } = await withEditedRow('of a partner account');

    expect(await run(command)).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('partner account second: generation'),
    });
  },
);

it('an error names the row of a feed that cannot be read', async () => {
  const { run } = await withEditedRow('of a feed');

  expect(await run('resync second --since 2026-11-01T00:00:00Z')).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('state of feed second/adverts: resets'),
  });
});

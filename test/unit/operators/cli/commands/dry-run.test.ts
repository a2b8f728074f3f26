import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { openEmbeddedState } from '../../../../../embedded/state/state.ts';
import { changedAdvert } from '../../../../helpers/records.ts';
import { startWebhook } from '../../../../helpers/webhook-server.ts';
import { eventsIn, startConnected } from '../local-bridge.ts';

async function startDry() {
  const local = await startConnected();
  const dryRun = (more = '') => local.runUntilIdle(` --dry-run${more}`);
  return { ...local, dryRun };
}

/** Each file of the folder by its contents, without the lock and what shows who has it. */
function filesIn(dir: string): Record<string, string> {
  const hashOf = (name: string) =>
    createHash('sha256')
      .update(readFileSync(path.join(dir, name)))
      .digest('hex');
  const names = readdirSync(dir).filter((name) => !['run.lock', 'heartbeat'].includes(name));
  return Object.fromEntries(names.map((name) => [name, hashOf(name)]));
}

/** The rows of every table of the state, without versions and etags; and apart the tokens, which may be refreshed. */
function tablesIn(dir: string): Record<string, unknown> {
  const db = new DatabaseSync(path.join(dir, 'bridge.db'), { readOnly: true });
  const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
  const rows = tables
    .map(({ name }) => String(name))
    .filter((name) => name !== 'sqlite_sequence')
    .map((name) => {
      const all = db.prepare(`SELECT * FROM ${name}`).all();
      const others = all.filter(({ kind }) => kind !== 'tokens');
      return [name, others.map(({ version: _version, etag: _etag, ...row }) => row)];
    });
  const pairs = db.prepare("SELECT value FROM rows WHERE kind = 'tokens'").all();
  db.close();
  return { rows: Object.fromEntries(rows), pairs };
}

const dataIn = (stdout: string) =>
  eventsIn(stdout)
    .map(({ detail }) => detail.data)
    .sort((a, b) => (a.advertId < b.advertId ? -1 : 1));

it('a dry run shows what a run would publish and changes no byte', async () => {
  const { sandbox, dir, dryRun, runUntilIdle } = await startDry();
  const [first = ''] = sandbox.control.createAdverts(5, { status: 'new' });
  await runUntilIdle();
  sandbox.control.setStatus(first, 'active');
  sandbox.control.createAdverts(3, { status: 'active' });
  const before = filesIn(dir);

  const dry = await dryRun();
  const after = filesIn(dir);
  const again = await dryRun();
  const real = await runUntilIdle();

  expect(dry.exitCode).toBe(0);
  expect(dry.stderr).toBe('Dry run: nothing of this is stored or sent.\n4 events.\n');
  expect(dataIn(dry.stdout)).toHaveLength(4);
  expect(dataIn(dry.stdout)).toContainEqual({ advertId: first, status: 'active', previousStatus: 'new' });
  expect(after).toEqual(before);
  expect(dataIn(again.stdout)).toEqual(dataIn(dry.stdout));
  expect(dataIn(real.stdout)).toEqual(dataIn(dry.stdout));
});

it('a dry run stores a token that had to be refreshed, and nothing else', async () => {
  const { sandbox, dir, dryRun } = await startDry();
  sandbox.control.createAdverts(2, { status: 'new' });
  const before = tablesIn(dir);
  sandbox.control.expireAccessTokens();

  const dry = await dryRun();

  expect(dataIn(dry.stdout)).toHaveLength(2);
  const after = tablesIn(dir);
  expect(after.pairs).not.toEqual(before.pairs);
  expect(after.rows).toEqual(before.rows);
});

it('a dry run considers what waits in the queue and leaves it there', async () => {
  const { sandbox, dir, dryRun, status } = await startDry();
  const [id = ''] = sandbox.control.createAdverts(1, { status: 'new' });
  const state = openEmbeddedState(dir);
  const { generation = 0 } = (await state.partnerAccounts.read('main')) ?? {};
  await state.queue.send([changedAdvert({ advertId: id, generation, cause: 'backfill' })]);
  state.close();

  const { stdout } = await dryRun();

  expect(dataIn(stdout)).toEqual([{ advertId: id, status: 'new', previousStatus: null }]);
  expect((await status()).queue).toEqual({ waiting: 1, deadLetters: 0 });
});

it('a dry run sends nothing to a webhook and stores nothing for one', async () => {
  const { sandbox, run, dir, dryRun } = await startDry();
  const webhook = await startWebhook();
  await run(`webhook ${webhook.url} --secret-stdin`, {
    stdin: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
  });
  sandbox.control.createAdverts(2);
  const before = filesIn(dir);

  const { stdout, exitCode } = await dryRun(` --webhook ${webhook.url}`);

  expect(exitCode).toBe(0);
  expect(dataIn(stdout)).toHaveLength(2);
  expect(webhook.calls).toEqual([]);
  expect(filesIn(dir)).toEqual(before);
});

it('a dry run shows a stop without storing it', async () => {
  const { sandbox, dir, dryRun, runUntilIdle } = await startDry();
  sandbox.control.revoke();
  const before = tablesIn(dir);

  const dry = await dryRun();

  expect([dry.exitCode, tablesIn(dir)]).toEqual([3, before]);
  const events = [dry, await runUntilIdle()].map(({ stdout }) => JSON.parse(stdout)['detail-type']);
  expect(events).toEqual(['PartnerAuthorizationRequired', 'PartnerAuthorizationRequired']);
});

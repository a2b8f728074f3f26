import { expect, it } from 'vitest';
import type { AuditProgress } from '../../../../shared/ports/audits.ts';
import { openEmbeddedState } from '../../../../shared/sqlite/state.ts';
import { startLocal } from '../local-bridge.ts';

const hourMs = 3_600_000;

/** A bridge whose `run` has begun its daily audit so long ago. */
async function withAudit(change: Partial<AuditProgress> = {}, agoMs = hourMs) {
  const local = await startLocal();
  await local.application();
  await local.connect();
  const [{ generation }] = (await local.status()).partnerAccounts;
  const at = new Date(Date.now() - agoMs).toISOString();
  const progress: AuditProgress = {
    ...{ id: 'a', state: 'done', source: 'sample 50', checked: 50, equal: 50, repaired: 0 },
    ...{ differing: [], neverPublished: [], undecided: [], startedAt: at, updatedAt: at },
    ...change,
  };
  const state = openEmbeddedState(local.dir);
  await state.dailyAudits.write({ partnerAccount: 'main', generation }, progress, 0);
  state.close();
  return { ...local, at };
}

const wrong = (...ids: string[]) => ({
  differing: ids.map((advertId) => ({ advertId, published: 'active', actual: 'limited' })),
  equal: 50 - ids.length,
});

it('status of an embedded bridge tells of the daily audit', async () => {
  const { run, status, at } = await withAudit();

  expect((await run('status')).stdout).toContain(
    `\n  audit: 50 adverts compared since ${at}, none differs\n`,
  );
  expect((await run('status')).exitCode).toBe(0);
  expect((await status()).partnerAccounts[0].dailyAudit).toEqual({
    ...{ state: 'done', startedAt: at, checked: 50, differing: [], undecided: 0 },
  });
});

it('what it found is left for a person, with the command that mends it', async () => {
  const { run, status, dir } = await withAudit({ ...wrong('1001', '1002'), undecided: ['1003'] });

  const { exitCode, stdout } = await run('status');

  expect(exitCode).toBe(3);
  expect(stdout).toContain(', 2 differ, 1 is undecided\n');
  expect(stdout).toMatch(/the published status is wrong for 1001, 1002\b.*AuditDifferences/);
  expect(stdout).toContain(`\`advert-bridge audit main --ids FILE --repair --local ${dir}\``);
  expect((await status()).partnerAccounts[0]).toMatchObject({
    ...{ needsPerson: true, attention: ['audit-differences'] },
  });
});

it('what an audit found that is switched off since is shown, and asks for nobody', async () => {
  const { run } = await withAudit(wrong('1001'), 49 * hourMs);

  expect(await run('status')).toMatchObject({
    exitCode: 0,
    stdout: expect.stringContaining(', 1 differs\n'),
  });
});

it('one that goes on says how far it is; without one there is no line', async () => {
  const { run } = await withAudit({ state: 'running', checked: 1, equal: 1 });
  const none = await startLocal();
  await none.application();
  await none.connect();

  expect((await run('status')).stdout).toContain('  audit: 1 advert compared so far since ');
  expect((await none.run('status')).stdout).not.toContain('audit');
});

import { expect, it } from 'vitest';
import { startConnected } from '../local-bridge.ts';

it('history shows the latest event whole and answers in its last line', async () => {
  const { sandbox, runUntilIdle, run } = await startConnected();
  const [id] = sandbox.control.createAdverts(1, { status: 'active' });
  const { stdout } = await runUntilIdle();

  const text = await run(`history main ${id}`);
  const json = await run(`history main ${id} --json`);

  expect(text).toMatchObject({ exitCode: 0, stderr: '' });
  expect(text.stdout.trimEnd().split('\n').at(-1)).toMatch(/^Event 1 of advert .* was published/);
  expect(JSON.parse(json.stdout)).toEqual({
    partnerAccount: 'main',
    advertId: id,
    latest: JSON.parse(stdout),
    latestPublished: true,
    events: [JSON.parse(stdout)],
    waiting: [],
    deadLetters: [],
    facts: expect.any(Array),
    outcome: 'published',
    answer: expect.stringContaining('was published'),
  });
});

it('history shows every event of the advert that is kept, and no other', async () => {
  const { sandbox, runUntilIdle, run } = await startConnected();
  const [id = '', other = ''] = sandbox.control.createAdverts(2, { status: 'new' });
  await runUntilIdle();
  for (const status of ['active', 'sold']) {
    sandbox.control.setStatus(id, status);
    sandbox.control.setStatus(other, status);
    await runUntilIdle();
  }

  const { stdout } = await run(`history main ${id}`);

  expect(stdout.match(/Event \d of advert \d+ \(.*?\): published/g)).toEqual([
    `Event 1 of advert ${id} (new): published`,
    `Event 2 of advert ${id} (new → active): published`,
    `Event 3 of advert ${id} (active → sold): published`,
  ]);
});

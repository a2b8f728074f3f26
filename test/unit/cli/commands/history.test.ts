import { describe, expect, it } from 'vitest';
import { changedAdvert } from '../../../helpers/records.ts';
import { startConnected } from '../local-bridge.ts';

describe('history of an embedded bridge', () => {
  it('shows the latest event whole, and answers in its last line', async () => {
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
      waiting: [],
      deadLetters: [],
      facts: expect.any(Array),
      outcome: 'published',
      answer: expect.stringContaining('was published'),
    });
  });

  it('tells what waits, and for what', async () => {
    const { inState, run } = await startConnected();
    await inState(async ({ partnerAccounts, queue }) => {
      const { generation = 0 } = (await partnerAccounts.read('main')) ?? {};
      await queue.send([changedAdvert({ advertId: '7', generation, correlationId: 'page-1' })]);
    });

    expect(JSON.parse((await run('history main 7 --json')).stdout)).toMatchObject({
      latest: null,
      latestPublished: null,
      waiting: [{ place: 'queue', key: 'page-1:7', correlationId: 'page-1', receives: 0, until: null }],
      outcome: 'waits-in-queue',
    });
  });
});
